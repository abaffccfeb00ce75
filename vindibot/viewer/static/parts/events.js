// The events of the game: buttons that jump to the next or the previous event of a kind, and a list of the events of
// the chosen kinds.

import { badMove, lateReason, runnerUp } from '../game/decisions.js';
import { button, el, foreign, icon } from '../core/dom.js';
import { JumpList } from './list.js';
import { DIRECTIONS } from '../game/names.js';
import { amount } from './why.js';

const PREVIOUS = ['M14.5 6l-6 6 6 6', ''],
  NEXT = ['M9.5 6l6 6-6 6', ''];

/** The kinds of events: the key, the name, and the strokes of the icon. The list shows the kinds with `shown` at
 *  first. */
export const KINDS = [
  { kind: 'kill', key: 'K', label: 'kill', sign: 'M5 5l14 14M19 5L5 19M4 15l5 5M20 15l-5 5', shown: true },
  { kind: 'death', key: 'D', label: 'death', sign: 'M12 3v18M7 8.5h10', shown: true },
  { kind: 'mine', key: 'M', label: 'change of a mine', short: 'mine',
    sign: 'M4 10c4-5.5 12-5.5 16 0M12 6v15', shown: false },
  {
    kind: 'late',
    key: 'O',
    label: 'late decision',
    short: 'late',
    sign: 'M12 3a9 9 0 100 18 9 9 0 000-18zM12 7v5l4 2',
    shown: true,
  },
  {
    kind: 'close',
    key: 'U',
    label: 'close decision',
    short: 'close',
    sign: 'M12 4v17M6 21h12M4 8h16M4 8l-2 6h5zM20 8l-3 6h5z',
    shown: true,
  },
  {
    kind: 'bad',
    key: 'B',
    label: 'bad move',
    sign: 'M9 8.5a3.2 3.2 0 113.8 3.2c-.9.3-1 1-1 2.3M11.8 18v.6',
    shown: true,
  },
  {
    kind: 'ours',
    key: 'T',
    label: 'turn of ours',
    short: 'our turn',
    sign: 'M12 3l2.7 6 6.3.6-4.8 4.2 1.5 6.4L12 16.8 6.3 20.2l1.5-6.4L3 9.6 9.3 9z',
  },
];

/** Return whether a game can have events of a kind. Only our own turns have decisions, and a review finds bad moves. */
export function possible(game, kind) {
  if (kind === 'bad') return Boolean(game.review);
  return kind !== 'ours' && kind !== 'close' ? true : game.me >= 0 && Boolean(game.bundle.why);
}

export class Events {
  /** Make the panel inside `host`. `acts` has the functions `jump(kind, way)` and `halt(state)`. */
  constructor(host, game, acts) {
    this.game = game;
    this.acts = acts;
    this.hero = -1;
    this.shown = new Set(KINDS.filter(({ shown }) => shown).map(({ kind }) => kind));
    this.rows = [];
    this.counts = new Map();
    this.list = new JumpList('event', 'Events', (state) => acts.halt(state));
    this.none = el('p', { class: 'none' });
    host.append(
      el('h2', { id: 'events-title', text: 'Events' }),
      el(
        'div',
        { class: 'jumps', role: 'group', 'aria-label': 'Jumps' },
        KINDS.filter(({ kind }) => possible(game, kind)).map((one) => this._jump(one)),
      ),
      this.list.element,
      this.none,
    );
    this.draw();
  }

  _jump({ kind, key, label, short = label, sign }) {
    const { acts } = this,
      count = el('span', { class: 'count' }),
      words = [el('span', { class: 'sign' }, icon(sign)), short, count];
    this.counts.set(kind, count);
    const box = el('input', {
      type: 'checkbox',
      checked: this.shown.has(kind),
      on: { change: () => this._choose(kind, box.checked) },
    });
    return el(
      'span',
      { class: 'jump' },
      button(`Previous ${label}`, icon(...PREVIOUS), () => acts.jump(kind, -1), { key: `Shift ${key}` }),
      kind === 'ours'
        ? el('span', { class: 'kind' }, words)
        : el('label', { class: 'kind', title: `list each ${label}` }, box, words),
      button(`Next ${label}`, icon(...NEXT), () => acts.jump(kind, 1), { key }),
    );
  }

  _choose(kind, on) {
    this.shown[on ? 'add' : 'delete'](kind);
    this.draw();
    this.show(this.state);
  }

  /** List only the events of a hero, or all events for -1. */
  stress(hero) {
    this.hero = hero;
    this.draw();
  }

  /** Update the list after the game has grown or the choice has changed. */
  draw() {
    const { game } = this,
      found = new Map();
    for (const [kind, count] of this.counts) {
      const events = game.events[kind].filter(({ heroes }) => this.hero < 0 || heroes.includes(this.hero));
      count.textContent = events.length;
      if (!this.shown.has(kind)) continue;
      for (const { state, turn, reviewed } of events) {
        const id = turn || reviewed ? state + 0.5 : state; // a decision comes after the ply that led to its state
        if (!found.has(id)) found.set(id, { state, kinds: [] });
        const row = found.get(id);
        row.turn ??= turn;
        row.reviewed ??= reviewed;
        row.kinds.push(kind);
      }
    }
    const sorted = [...found].sort(([a], [b]) => a - b);
    this.rows = sorted.map(([, row]) => row);
    this.list.fill(
      sorted.map(([id, row]) => ({
        key: [id, ...row.kinds].join('-'),
        state: row.state,
        parts: () => this._parts(row),
      })),
    );
    this.none.hidden = Boolean(this.rows.length);
    this.none.textContent = this.shown.size ? 'No such event.' : 'Choose a kind of event to list.';
  }

  _parts({ state, turn, reviewed, kinds }) {
    const { game } = this,
      sign = KINDS.find(({ kind }) => kind === kinds[0]).sign;
    const said =
      turn || reviewed
        ? decisionText(game, turn, reviewed, kinds)
        : game.happened(state).join('. ');
    return [
      el('span', { class: 'turn', text: game.turns[state] }),
      el('span', { class: 'sign' }, icon(sign)),
      foreign(said),
    ];
  }

  /** Select the last event at or before a state. For `quiet` see `JumpList`. */
  show(state, quiet) {
    this.state = state;
    const after = this.rows.findIndex((row) => row.state > state),
      last = (after < 0 ? this.rows.length : after) - 1;
    // A row that the user has selected stays selected, if several events belong to its state.
    this.list.select(this.rows[this.list.at]?.state === state ? this.list.at : last, quiet);
  }
}

/** Return a description of a bad move, or of a late or close decision, in words. */
function decisionText(game, turn, reviewed, kinds) {
  const said = [];
  if (kinds.includes('bad')) said.push(badMove(reviewed));
  if (kinds.includes('late')) said.push(lateReason(turn));
  if (kinds.includes('close')) {
    const other = runnerUp(turn),
      lead = turn.sums[turn.move] - turn.sums[other],
      name = DIRECTIONS[other];
    said.push(
      lead > 1e-9
        ? `${DIRECTIONS[turn.move]} only ${amount(lead)} ahead of ${name}`
        : `${DIRECTIONS[turn.move]} and ${name} equal`,
    );
  }
  const hero = turn ? game.me : reviewed.hero;
  return `${hero + 1} ${game.names[hero]}: ${said.join('; ')}`;
}
