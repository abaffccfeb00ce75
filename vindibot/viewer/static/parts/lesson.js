// The mode "learn from mistakes": it shows the position of a bad move without the answer, asks for a move, says what
// this move was worth, and goes on to the next position. The worst moves come first.

import { el, foreign, set, textButton } from '../core/dom.js';
import { gold, lossText } from '../game/decisions.js';
import { ARROWS, DIRECTIONS, MARKS, STEERING } from '../game/names.js';
import { backButton } from './line.js';

/** Largest number of positions of a lesson. */
const MOST = 20;
/** The overlays that would give the answer away. */
export const ANSWERS = new Set(['review', 'line', 'goals', 'sums', 'marks']);

export class Lesson {
  /** Make a lesson of the bad moves of `hero`, or of all heroes for -1. `acts` has the functions `halt(state)`,
   *  `answered()` and `leave()`. */
  constructor(game, hero, acts) {
    this.game = game;
    this.acts = acts;
    this.turns = game.worst.filter((one) => hero < 0 || one.hero === hero).slice(0, MOST);
    this.number = -1;
    this.lost = 0; // the gold that the user's moves lost
    this.best = 0; // number of best moves
    this.answer = null;
    this.head = el('h2', { id: 'lesson-title', text: 'Learn from mistakes' });
    this.question = el('p', { class: 'question' });
    this.moves = el('p', { class: 'ways', role: 'group', 'aria-label': 'Your move' });
    this.verdict = el('p', { class: 'lesson-verdict', role: 'status' });
    this.next = textButton('', () => this.go(), { class: 'way next' });
    this.host = el(
      'section',
      { class: 'panel lesson', 'aria-labelledby': 'lesson-title' },
      el(
        'div',
        { class: 'panel-head' },
        this.head,
        backButton(acts.leave),
      ),
      this.question,
      this.moves,
      this.verdict,
      el('p', { class: 'ways' }, this.next),
    );
  }

  /** Whether the answer must stay hidden. */
  get hides() {
    return this.answer === null && this.turn !== undefined;
  }

  /** The reviewed turn of the position, undefined after the last one. */
  get turn() {
    return this.turns[this.number];
  }

  /** Go on to the next position, or to the end. */
  go() {
    this.number += 1;
    this.answer = null;
    const { turn, game } = this;
    this.verdict.replaceChildren();
    this.next.hidden = true;
    if (!turn) {
      this._end();
      return;
    }
    this.question.replaceChildren(
      `Position ${this.number + 1} of ${this.turns.length}, turn ${turn.turn}. Hero ${turn.hero + 1} `,
      foreign(game.names[turn.hero]),
      ' made a bad move here. What would you play?',
    );
    const shown = new Set(turn.values.map(([direction]) => direction));
    this.buttons = DIRECTIONS.map((name, direction) =>
      el(
        'button',
        { type: 'button', class: 'way', 'data-move': direction, disabled: !shown.has(direction),
          on: { click: () => this.play(direction) } },
        el('span', { class: 'arrow', 'aria-hidden': 'true', text: ARROWS[direction] }),
        ` ${name}`,
      ),
    );
    this.moves.replaceChildren(...this.buttons);
    this.acts.halt(turn.ply);
    this.buttons.find((one) => !one.disabled).focus({ preventScroll: true });
  }

  /** Play a move (0..4), and say what it was worth. A move without an effect is not played. */
  play(direction) {
    const { turn } = this,
      value = turn?.values.find(([move]) => move === direction);
    if (!value || !this.hides) return;
    this.answer = direction;
    const [, , less, error] = value;
    const best = direction === turn.best;
    this.lost += best ? 0 : less;
    this.best += Number(best);
    const own = best
      ? `${DIRECTIONS[direction]} is the best move. `
      : `${DIRECTIONS[direction]} loses ${lossText(less, error, turn.best)}. `;
    const same = direction === turn.move;
    const theirs = same ? 'the same move' : DIRECTIONS[turn.move],
      played = `The hero played ${theirs}, ${MARKS[turn.mark].words}`;
    const kind = turn.kind ? ` (${turn.kind})` : '';
    this.verdict.replaceChildren(own, `${played}${kind}${same ? '' : `: it lost ${gold(turn.loss)} gold`}.`);
    for (const one of this.buttons) {
      const move = Number(one.dataset.move);
      one.disabled = true;
      set(one, { 'aria-pressed': String(move === direction) });
      one.classList.toggle('best', move === turn.best);
    }
    this.next.hidden = false;
    this.next.textContent = this.number + 1 < this.turns.length ? 'Next position' : 'Result';
    this.acts.answered();
    this.next.focus({ preventScroll: true });
  }

  _end() {
    const heroes = this.turns.reduce((sum, one) => sum + one.loss, 0);
    this.question.textContent = 'That was the last position.';
    this.moves.replaceChildren();
    const found = `You found the best move in ${this.best} of ${this.turns.length} positions.`;
    this.verdict.textContent =
      `${found} Your moves lost ${gold(this.lost)} gold, the moves of the game ${gold(heroes)} gold.`;
    this.acts.answered();
    this.host.querySelector('.back').focus({ preventScroll: true });
  }

  /** Handle a key. Return whether it was one of the lesson. */
  key(key) {
    if (key === 'Escape') this.acts.leave();
    else if (key in STEERING && this.hides) this.play(STEERING[key]);
    else if (key === 'Enter' && this.answer !== null) this.go();
    else return key in STEERING;
    return true;
  }
}
