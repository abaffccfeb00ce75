// The events of the game: buttons that jump to the next or the previous event of a kind, and a list of the events of the chosen
// kinds.

import { lateReason, runnerUp } from 'viewer/decisions.js';
import { button, el, foreign, icon, set } from 'viewer/dom.js';
import { DIRECTIONS, describe } from 'viewer/model.js';
import { amount } from 'viewer/why.js';

const PREVIOUS = ['M14.5 6l-6 6 6 6', ''],
  NEXT = ['M9.5 6l6 6-6 6', ''];

/** The kinds of events: the key, the name, and the strokes of the icon. The list shows the kinds with `shown` at first. */
export const KINDS = [
  { kind: 'kill', key: 'K', label: 'kill', sign: 'M5 5l14 14M19 5L5 19M4 15l5 5M20 15l-5 5', shown: true },
  { kind: 'death', key: 'D', label: 'death', sign: 'M12 3v18M7 8.5h10', shown: true },
  { kind: 'mine', key: 'M', label: 'change of a mine', short: 'mine', sign: 'M4 10c4-5.5 12-5.5 16 0M12 6v15', shown: false },
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
    kind: 'ours',
    key: 'T',
    label: 'turn of ours',
    short: 'our turn',
    sign: 'M12 3l2.7 6 6.3.6-4.8 4.2 1.5 6.4L12 16.8 6.3 20.2l1.5-6.4L3 9.6 9.3 9z',
  },
];

/** Return whether a game can have events of a kind. Only our own turns have decisions. */
export function possible(game, kind) {
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
    this.at = -1; // the selected row
    this.counts = new Map();
    this.list = el('ol', {
      class: 'list',
      role: 'listbox',
      tabindex: 0,
      'aria-label': 'Events',
      on: { keydown: (event) => this._key(event), click: (event) => this._click(event) },
    });
    this.none = el('p', { class: 'none' });
    host.append(
      el('h2', { id: 'events-title', text: 'Events' }),
      el(
        'div',
        { class: 'jumps', role: 'group', 'aria-label': 'Jumps' },
        KINDS.filter(({ kind }) => possible(game, kind)).map((one) => this._jump(one)),
      ),
      this.list,
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

  /** Make the list again, after the game has grown or the choice has changed. */
  draw() {
    const { game } = this,
      found = new Map();
    for (const [kind, count] of this.counts) {
      const events = game.events[kind].filter(({ heroes }) => this.hero < 0 || heroes.includes(this.hero));
      count.textContent = events.length;
      if (!this.shown.has(kind)) continue;
      for (const { state, turn } of events) {
        const id = turn ? state + 0.5 : state; // a decision comes after the ply that led to its state
        if (!found.has(id)) found.set(id, { state, turn, kinds: [] });
        found.get(id).kinds.push(kind);
      }
    }
    this.rows = [...found].sort(([a], [b]) => a - b).map(([, row]) => row);
    this.at = -1;
    this.list.replaceChildren(...this.rows.map((row, index) => this._row(row, index)));
    this.list.hidden = !this.rows.length;
    this.none.hidden = Boolean(this.rows.length);
    this.none.textContent = this.shown.size ? 'No such event.' : 'Choose a kind of event to list.';
  }

  _row({ state, turn, kinds }, index) {
    const { game } = this,
      sign = KINDS.find(({ kind }) => kind === kinds[0]).sign;
    return el(
      'li',
      { role: 'option', id: `event-${index}`, 'data-index': index, 'data-state': state, 'aria-selected': 'false' },
      el('span', { class: 'turn', text: game.turns[state] }),
      el('span', { class: 'sign' }, icon(sign)),
      foreign(
        turn
          ? decisionText(game, turn, kinds)
          : describe(game.plies[state - 1], (hero) => `${hero + 1} ${game.names[hero]}`).join('. '),
      ),
    );
  }

  /** Select the last event at or before a state. */
  show(state) {
    this.state = state;
    const after = this.rows.findIndex((row) => row.state > state),
      last = (after < 0 ? this.rows.length : after) - 1;
    // A row that the user has selected stays selected, if several events belong to its state.
    this._select(this.rows[this.at]?.state === state ? this.at : last);
  }

  _select(at) {
    if (at === this.at) return;
    const { children } = this.list;
    if (this.at >= 0) set(children[this.at], { 'aria-selected': 'false' });
    this.at = at;
    set(this.list, { 'aria-activedescendant': at >= 0 ? `event-${at}` : null });
    if (at < 0) return;
    const row = children[at],
      top = row.offsetTop - this.list.offsetTop;
    set(row, { 'aria-selected': 'true' });
    // `scrollIntoView` would scroll the page too
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (top + row.offsetHeight > this.list.scrollTop + this.list.clientHeight)
      this.list.scrollTop = top + row.offsetHeight - this.list.clientHeight;
  }

  _go(index) {
    if (!this.rows[index]) return;
    this._select(index);
    this.acts.halt(this.rows[index].state);
  }

  _click(event) {
    const row = event.target.closest('[data-index]');
    if (row) this._go(Number(row.dataset.index));
  }

  _key(event) {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    this._go(Math.max(0, Math.min(this.rows.length - 1, this.at + way)));
  }
}

/** Return a late or close decision in words. */
function decisionText(game, turn, kinds) {
  const said = [];
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
  return `${game.me + 1} ${game.names[game.me]}: ${said.join('; ')}`;
}
