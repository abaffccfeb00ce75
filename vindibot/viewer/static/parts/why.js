// The panel that explains a move: the votes of each trait as bars, its weight and its time, the sums, and the lead of
// the move.

import { lineOf, runnerUp } from '../game/decisions.js';
import { el, foreign, set } from '../core/dom.js';
import { ARROWS, DIRECTIONS } from '../game/names.js';
import { HEROES } from '../board/sprites.js';

const STATUS = {
  late: 'no last answer before the deadline',
  error: 'it raised an error',
  killed: 'its process was killed',
  benched: 'it is out for the rest of the game',
  void: 'its answer could not be read as votes',
};

/** Return a number as a short text: 1230, 12.5, 0.25, −300. */
export function amount(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return value.toExponential(1).replace('-', '−').replace('e+', 'e');
  const digits = Number.isInteger(value) || size >= 1e5 ? 0 : size >= 10 ? 1 : 2;
  const text = value.toFixed(digits);
  return (Number(text) === 0 && value !== 0 ? value.toExponential(0) : text).replace('-', '−');
}

function milliseconds(value) {
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}

/** Return the votes times the weight of the trait; zeros if there are no votes. */
function weighted(vote) {
  return vote.votes ? vote.votes.map((value) => value * vote.weight) : null;
}

/** Return the value at which the bars begin: 0, or the value nearest to 0 if all values have the same sign. The bars
 *  leave out the part that all candidates share; the numbers include it. */
function baseline(values, candidates) {
  const some = candidates.map((direction) => values[direction]);
  const low = Math.min(...some),
    high = Math.max(...some);
  return low > 0 ? low : high < 0 ? high : 0;
}

export class Why {
  /** Make the panel inside `host`, an empty element. */
  constructor(host, game) {
    this.game = game;
    this.other = null; // the direction that the move is compared with; null for the best of the other directions
    this.turn = undefined;
    this.head = el('h2', { id: 'why-title', text: 'Why' });
    this.chips = el('p', { class: 'chips' });
    this.verdict = el('p', { class: 'verdict' });
    this.body = el('tbody');
    this.foot = el('tfoot');
    this.columns = DIRECTIONS.map((name, direction) => {
      const press = () => {
        this.other = this.other === direction ? null : direction;
        this.draw();
      };
      const button = el(
        'button',
        { type: 'button', class: 'direction', on: { click: press } },
        el('span', { class: 'arrow', 'aria-hidden': 'true', text: ARROWS[direction] }),
        name,
      );
      return { button, cell: el('th', { scope: 'col' }, button) };
    });
    this.table = el(
      'table',
      { class: 'votes', 'aria-labelledby': 'why-title' },
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          el('th', { scope: 'col', text: 'Trait' }),
          this.columns.map(({ cell }) => cell),
          el('th', { scope: 'col', class: 'ms', text: 'ms' }),
        ),
      ),
      this.body,
      this.foot,
    );
    this.search = el('div', { class: 'search' });
    this.none = el('p', { class: 'none' });
    host.append(
      el('div', { class: 'panel-head' }, this.head, this.chips),
      this.verdict,
      this.none,
      this.table,
      this.search,
    );
  }

  /** Show our turn `turn` (null for none) at the state `state`. */
  show(turn, state) {
    const ago = turn ? state - turn.ply : 0;
    if (turn === this.turn && ago === this.ago) return;
    if (turn !== this.turn) this.other = null;
    const same = turn === this.turn;
    this.turn = turn;
    this.ago = ago;
    if (!same || !turn) this.draw();
    else this._head();
  }

  _head() {
    const { turn, ago } = this;
    const when = ago === 0 ? 'about to be played' :
      ago === 1 ? 'just played' : `${ago - 1} ${ago === 2 ? 'ply' : 'plies'} ago`;
    this.head.textContent = `Why ${DIRECTIONS[turn.move]} on turn ${turn.turn}?`;
    this.chips.firstChild.textContent = when;
  }

  draw() {
    const { turn } = this,
      some = Boolean(turn);
    this.table.hidden = this.search.hidden = this.verdict.hidden = !some;
    this.none.hidden = some;
    this.chips.replaceChildren();
    if (!some) {
      this.head.textContent = 'Why';
      this.none.textContent = this.game.bundle.why
        ? 'The votes of this turn are not known.'
        : 'Votes are shown for games that our bot recorded.';
      return;
    }
    this.chips.append(el('span', { class: 'chip' }));
    if (turn.left_ms !== null && turn.left_ms !== undefined) {
      const kind = turn.left_ms < 0 ? 'bad' : turn.left_ms < 100 ? 'warn' : 'good';
      this.chips.append(
        el('span', {
          class: `chip ${kind}`,
          text: turn.left_ms < 0 ? `${Math.round(-turn.left_ms)} ms late` : `${Math.round(turn.left_ms)} ms left`,
        }),
      );
    }
    if (turn.fallback)
      this.chips.append(el('span', { class: 'chip warn', text: 'fallback: no trait answered in time' }));
    this._head();
    this._rows();
    this._sums();
    this._verdict();
    this._search();
  }

  _rows() {
    const { turn } = this,
      shares = turn.votes.map(weighted);
    const bases = shares.map((share) => (share ? baseline(share, turn.candidates) : 0));
    let most = 0;
    shares.forEach(
      (share, row) =>
        share &&
        turn.candidates.forEach((direction) => {
          most = Math.max(most, Math.abs(share[direction] - bases[row]));
        }),
    );
    const slowest = Math.max(1, ...turn.votes.map((vote) => vote.ms ?? 0));
    this.body.replaceChildren(
      ...turn.votes.map((vote, row) => {
        const name = el(
          'th',
          { scope: 'row' },
          foreign(vote.trait, { class: 'trait', title: vote.trait }),
          ' ',
          el('span', {
            class: 'weight',
            title: 'weight',
            text: `×${String(Number(vote.weight.toPrecision(6))).replace('-', '−')}`,
          }),
        );
        const cells = shares[row]
          ? DIRECTIONS.map((_, direction) => this._cell(shares[row], direction, bases[row], most))
          : el('td', { class: 'silent', colspan: DIRECTIONS.length,
            text: vote.status === 'ok' ? 'no opinion' : 'no vote' });
        return el(
          'tr',
          { class: vote.status === 'ok' ? '' : `status-${vote.status}`, 'data-trait': vote.trait },
          name,
          cells,
          this._time(vote, slowest),
        );
      }),
    );
    for (const [direction, { button, cell }] of this.columns.entries()) {
      cell.classList.toggle('chosen', direction === turn.move);
      const candidate = turn.candidates.includes(direction);
      button.disabled = !candidate;
      set(button, {
        'aria-pressed': String(direction === this.other),
        title: !candidate
          ? 'no effect of its own: the same as Stay'
          : direction === turn.move
            ? 'what was decided'
            : `compare with ${DIRECTIONS[direction]}`,
      });
    }
  }

  _cell(share, direction, base, most) {
    const { turn } = this,
      chosen = direction === turn.move ? 'chosen' : '';
    if (!turn.candidates.includes(direction))
      return el('td', { class: `no ${chosen}`, title: 'same effect as Stay' },
        el('span', { class: 'value', text: '–' }));
    const value = share[direction],
      differs = value - base;
    const bar = el('span', { class: `bar ${differs < 0 ? 'against' : 'for'}`, 'aria-hidden': 'true' });
    // The width grows with the square root, so that a vote of 1 is visible beside a vote of 300.
    const wide = differs && most ? Math.max(4, 100 * Math.sqrt(Math.abs(differs) / most)) : 0;
    bar.style.width = `${(wide / 2).toFixed(1)}%`;
    return el('td', { class: chosen, 'data-value': value }, bar, el('span', { class: 'value', text: amount(value) }));
  }

  _time(vote, slowest) {
    const cell = el('td', { class: 'ms', 'data-ms': vote.ms ?? '' });
    if (vote.ms !== null && vote.ms !== undefined) {
      const bar = el('span', { class: 'bar time', 'aria-hidden': 'true' });
      bar.style.width = `${(100 * vote.ms) / slowest}%`;
      cell.append(bar, el('span', { class: 'value', text: milliseconds(vote.ms) }));
    }
    if (vote.status !== 'ok')
      cell.append(el('span', { class: `badge ${vote.status}`, title: STATUS[vote.status] ?? '', text: vote.status }));
    if (vote.note) cell.append(el('bdi', { class: 'note', title: vote.note, text: vote.note }));
    return cell;
  }

  _sums() {
    const { turn } = this,
      base = baseline(turn.sums, turn.candidates);
    const most = Math.max(...turn.candidates.map((direction) => Math.abs(turn.sums[direction] - base)));
    const total = turn.votes.reduce((sum, vote) => Math.max(sum, vote.ms ?? 0), 0);
    this.foot.replaceChildren(
      el(
        'tr',
        {},
        el('th', { scope: 'row', text: 'Sum' }),
        DIRECTIONS.map((_, direction) => this._cell(turn.sums, direction, base, most)),
        el(
          'td',
          { class: 'ms', title: 'milliseconds of the slowest trait' },
          el('span', { class: 'value' }, el('span', { class: 'of', text: 'slowest ' }), milliseconds(total)),
        ),
      ),
    );
  }

  /** Compare the move with another direction. Show the lead of the move, and the traits that made the difference. */
  _verdict() {
    const { turn } = this,
      other = this.other !== null && this.other !== turn.move ? this.other : runnerUp(turn);
    if (other === null) {
      this.verdict.textContent = 'No other direction had an effect.';
      return;
    }
    const lead = turn.sums[turn.move] - turn.sums[other];
    const parts = turn.votes
      .map((vote) => ({ vote, share: weighted(vote) }))
      .filter(({ share }) => share)
      .map(({ vote, share }) => ({ label: vote.trait, by: share[turn.move] - share[other] }))
      .filter(({ by }) => Math.abs(by) > 1e-12)
      .sort((a, b) => Math.abs(b.by) - Math.abs(a.by));
    const start = turn.fallback
      ? `${DIRECTIONS[turn.move]} is the fallback move, made when no trait answers in time. `
      : lead > 0
        ? `${DIRECTIONS[turn.move]} beat ${DIRECTIONS[other]} by ${amount(lead)}`
        : `${DIRECTIONS[turn.move]} and ${DIRECTIONS[other]} had equal sums, chance decided`;
    const list = (kind, sign) => {
      const some = parts.filter(({ by }) => by * sign > 0).slice(0, 4);
      return some.length
        ? [kind, ...some.flatMap(({ label, by }, i) =>
          [i ? ', ' : ' ', foreign(label), ` ${by > 0 ? '+' : ''}${amount(by)}`])]
        : [];
    };
    const pro = list(': for it', 1),
      contra = list(pro.length ? '; against it' : ': against it', -1);
    this.verdict.replaceChildren(start, ...pro, ...contra, '.');
    this.verdict.dataset.lead = lead;
  }

  _search() {
    const { turn, game } = this,
      found = turn.votes.filter((vote) => vote.depth !== undefined || vote.score !== undefined || vote.pv);
    const mover = game.mover(turn.ply);
    this.search.replaceChildren(
      ...found.map((vote) => {
        const facts = [
          vote.depth === undefined ? null : `depth ${vote.depth}`,
          vote.score === undefined ? null : `score ${vote.score > 0 ? '+' : ''}${amount(vote.score)} gold`,
          vote.nodes === undefined ? null : `${vote.nodes.toLocaleString('en')} positions`,
        ]
          .filter(Boolean)
          .join(', ');
        const line = lineOf(vote, mover);
        const steps = line.map(({ hero, sign, name }) => {
          const step = el('span', { class: 'step', title: `hero ${hero + 1}: ${name}`, text: sign });
          step.style.setProperty('--hero', HEROES[hero].main);
          return step;
        });
        const label = `expects ${line.map(({ hero, name }) => `${hero + 1} ${name}`).join(', ')}`;
        return el('p', {}, foreign(vote.trait, { class: 'trait' }), facts ? ` ${facts}` : '',
          line.length > 0 && el('span', { class: 'steps', role: 'img', 'aria-label': label }, steps));
      }),
    );
  }
}
