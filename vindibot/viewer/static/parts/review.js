// The panel of a review: what each move was worth on the reviewed turn, and the list of the worst moves.

import { button, el, foreign, set, textButton } from '../core/dom.js';
import { gold, lossText } from '../game/decisions.js';
import { JumpList } from './list.js';
import { ARROWS, DIRECTIONS, MARKS } from '../game/names.js';

export class ReviewPanel {
  /** Make the panel inside `host`. `acts` has the functions `halt(state)` and `explore(reviewed, which)`, where
   *  `which` is "best" or "played", and `learn()`. */
  constructor(host, game, acts) {
    this.game = game;
    this.acts = acts;
    this.hero = -1;
    this.turn = undefined;
    const { review } = game;
    this.head = el('h2', { id: 'review-title', text: 'Review' });
    this.chips = el('p', { class: 'chips' });
    this.verdict = el('p', { class: 'verdict' });
    this.body = el('tbody');
    this.table = el(
      'table',
      { class: 'options' },
      el('caption', { class: 'unseen', text: 'The moves of this turn' }),
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          ['Move', 'Gold at the end', 'Less than the best'].map((text, i) =>
            el('th', { scope: 'col', class: i ? 'number' : '', text }),
          ),
        ),
      ),
      this.body,
    );
    this.ways = ['best', 'played'].map((which) =>
      textButton('', () => acts.explore(this.turn, which), { class: 'way' }));
    this.buttons = el('p', { class: 'ways' }, this.ways);
    this.listTitle = el('h3', { text: 'Worst moves' });
    this.list = new JumpList('worst', 'Worst moves', (state) => acts.halt(state));
    this.kinds = el('p', { class: 'kinds' });
    this.none = el('p', { class: 'none', text: 'No move lost gold that counts.' });
    this.learn = button('Learn from mistakes', 'Learn from mistakes', () => acts.learn(), { key: 'Y', class: 'way' });
    const length = review.rounds ? `${review.rounds} rounds` : 'the end of the game';
    const nodes = review.nodes.toLocaleString('en'),
      about = `Reviewed by ${review.bot} with ${nodes} nodes a turn, playouts of ${length}.`;
    host.append(
      el('div', { class: 'panel-head' }, this.head, this.chips),
      this.verdict,
      this.table,
      this.buttons,
      this.listTitle,
      this.list.element,
      el('p', { class: 'ways' }, this.learn),
      this.none,
      this.kinds,
      el('p', { class: 'about' }, foreign(about)),
    );
    this.setLine(null);
    this.draw();
  }

  /** List only the moves of a hero, or of all heroes for -1. */
  stress(hero) {
    this.hero = hero;
    this.turn = undefined;
    this.draw();
  }

  /** Make the list of the worst moves, and the gold that each hero lost. */
  draw() {
    const { game } = this,
      { turns, heroes } = game.review;
    this.rows = game.worst.filter(({ hero }) => this.hero < 0 || hero === this.hero);
    this.list.fill(this.rows.map((row) =>
      ({ key: `${row.ply}-${row.hero}`, state: row.ply, parts: () => this._parts(row) })));
    this.none.hidden = Boolean(this.rows.length);
    this.listTitle.hidden = this.learn.hidden = !this.rows.length;
    const kinds = new Map();
    for (const { kind, loss } of this.rows) kinds.set(kind || 'other', (kinds.get(kind || 'other') ?? 0) + loss);
    const words = [...kinds].sort(([, a], [, b]) => b - a).map(([kind, lost]) => `${kind} ${gold(lost)}`);
    this.kinds.textContent = words.length ?
      `Sums of losses in gold (several moves can lose the same gold): ${words.join(', ')}.` : '';
    this.chips.replaceChildren(
      ...heroes
        .filter((hero) => this.hero < 0 || hero === this.hero)
        .map((hero) => {
          const own = turns.filter((one) => one.hero === hero),
            lost = own.reduce((sum, one) => sum + (one.mark ? one.loss : 0), 0);
          const rate = own.length ? lost / own.length : 0;
          return el(
            'span',
            { class: 'chip', title: `sum of the losses of ${own.length} reviewed moves: ${gold(lost)} gold` },
            `${hero + 1} `,
            foreign(game.names[hero]),
            `: mean loss per move ${rate.toFixed(2)} gold`,
          );
        }),
    );
  }

  _parts({ turn, hero, move, best, loss, mark, kind }) {
    return [
      el('span', { class: 'turn', text: turn }),
      el('span', { class: `mark ${mark}`, title: mark, role: 'img', 'aria-label': mark, text: MARKS[mark].sign }),
      el(
        'span',
        {},
        this.game.review.heroes.length > 1 ? `${hero + 1}: ` : null,
        `${DIRECTIONS[move]}, not ${DIRECTIONS[best]}`,
        kind ? el('span', { class: 'kind', text: ` · ${kind}` }) : null,
      ),
      el('span', { class: 'loss', text: gold(-loss) }),
    ];
  }

  /** Show a reviewed turn, null for none. */
  show(reviewed, state) {
    this.list.select(this.rows.findIndex(({ ply, hero }) => ply === state && hero === reviewed?.hero));
    if (reviewed === this.turn) return;
    this.turn = reviewed;
    this.table.hidden = this.buttons.hidden = !reviewed;
    if (!reviewed) {
      this.head.textContent = 'Review';
      this.verdict.textContent = 'This turn was not reviewed.';
      return;
    }
    const { turn, hero, move, best, loss, error, mark, kind } = reviewed,
      name = foreign(this.game.names[hero]);
    this.head.textContent = `Review of turn ${turn}`;
    const why = mark && kind ? ` (${kind})` : '';
    const judged = move === best ? 'was the best move.' :
      `was ${mark ? MARKS[mark].words : 'good enough'}. It lost ${lossText(loss, error, best)}${why}.`;
    this.verdict.replaceChildren(`${hero + 1} `, name, `: ${DIRECTIONS[move]} ${judged}`);
    this._moves(reviewed);
    this._buttons(reviewed);
  }

  /** Mark the line that is on the board: "best", "played", or null for the game. */
  setLine(which) {
    this.ways.forEach((way, i) => set(way, { 'aria-pressed': String(which === ['best', 'played'][i]) }));
  }

  _moves({ hero, move, best, mark, values }) {
    const sorted = [...values].sort((a, b) => a[2] - b[2]);
    this.body.replaceChildren(
      ...sorted.map(([direction, golds, less, error]) => {
        const words = direction === best ? 'best' : direction === move ? 'played' : '';
        return el(
          'tr',
          { class: direction === best ? 'best' : direction === move && mark ? 'bad' : '', 'data-move': direction },
          el(
            'th',
            { scope: 'row' },
            el('span', { class: 'arrow', 'aria-hidden': 'true', text: ARROWS[direction] }),
            ` ${DIRECTIONS[direction]}`,
            words && el('span', { class: 'tag',
              text: direction === best && direction === move ? 'best, played' : words }),
          ),
          el('td', { class: 'number', text: gold(golds[hero]) }),
          el('td', { class: 'number', text: direction === best ? '' : `${gold(less)} ± ${gold(error)}` }),
        );
      }),
    );
  }

  _buttons(reviewed) {
    const lines = [reviewed.best_line, reviewed.played_line],
      moves = [reviewed.best, reviewed.move],
      keys = ['P', 'Q'];
    this.ways.forEach((way, i) => {
      way.textContent = `${i ? 'After' : 'What would have happened after'} ${DIRECTIONS[moves[i]]}`;
      way.hidden = !lines[i]?.length;
      set(way, { title: `play the expected line on the board (${keys[i]})` });
    });
    this.buttons.hidden = this.ways.every(({ hidden }) => hidden);
  }
}
