// One game of a person against bots. The person joins as any client does. The host sends the votes of the bots.

import * as api from './api.js';
import { Seat } from './seat.js';
import { button, el, foreign, set } from '/viewer/dom.js';
import { marksOf } from '/viewer/overlays.js';
import { HEROES } from '/viewer/sprites.js';
import { store, stored } from '/viewer/storage.js';
import { Why } from '/viewer/why.js';

/** When no more than this number of seconds is left, the page shows the time. At a pace it always shows the time. */
const COUNTDOWN_S = 15;
const MARKS = new Set(['sums', 'line', 'goals']);
const MEMORY = 'vindibot-challenge-votes';

export class Play extends Seat {
  /** `begun` is the host's answer. `pace` is the number of seconds after which the hero stays if the person has not
   *  moved (0: never). `limit` is the server's limit in seconds (0: none). `done` has the functions for the end of
   *  the game: `again`, `choose`. */
  constructor(host, begun, { pace, limit, ...options }, done) {
    super(host, begun.bundle, options);
    this.begun = begun;
    this.pace = pace;
    this.limit = limit;
    this.done = done;
    this.others = [0, 1, 2, 3].filter((hero) => hero !== this.game.me);
    this.bot = this.others[0];
    this.turns = [[], [], [], []]; // the decisions of the bots, by hero
    this.known = 0;
    this.leaving = button('Give up', 'Give up', () => this._giveUp(), { class: 'roomy' });
    this.turnRow.append(this.leaving);
    this._buildVotes();
    this._leave();
    this._votes(stored(MEMORY) === 'on');
  }

  _buildVotes() {
    const { game } = this, why = el('div', {});
    this.why = new Why(why, game);
    this.box = el('input', { type: 'checkbox', on: { change: () => this._votes(this.box.checked) } });
    this.tabs = this.others.map((hero) => {
      const click = () => this._choose(hero);
      const tab = el('button', { type: 'button', class: 'tab', 'data-hero': hero, on: { click } },
        el('span', { class: 'number', text: hero + 1 }), foreign(game.names[hero], { class: 'name' }));
      tab.style.setProperty('--hero', HEROES[hero].main);
      return tab;
    });
    this.decisions = el('div', {}, el('div', { class: 'tabs', role: 'group', 'aria-label': 'Bot' }, this.tabs), why);
    this.side.append(el('section', { class: 'panel why', 'aria-label': 'How the bots decided' },
      el('label', { class: 'switch', title: 'what each trait of a bot voted for its last move (V)' }, this.box,
        'Show how the bots decided'), this.decisions));
  }

  _leave() {
    const { signal } = this.ends;
    document.addEventListener('keydown', (event) => {
      if (event.key.toLowerCase() !== 'v' || event.ctrlKey || event.metaKey || event.altKey) return;
      if (!event.target.closest?.('input:not([type=checkbox]), select')) this._votes(!this.box.checked);
    }, { signal });
    window.addEventListener('pagehide', () => api.leave(this.begun.secret), { signal });
    window.addEventListener('beforeunload', (event) => { if (!this.over) event.preventDefault(); }, { signal });
  }

  // ---- The seat ----

  /** Join, and play to the end. */
  async run() {
    try {
      const { game, playUrl } = await api.join(this.begun.key);
      const path = new URL(playUrl, location.href).pathname;
      if (!this.over) this.play(game.id, (...move) => api.sendMove(path, ...move));
    } catch (problem) {
      this._stop(problem.message);
    }
  }

  _time() {
    const whole = this.pace || this.limit,
      left = whole - (performance.now() - this.asked) / 1000;
    if (this.turn === null || !whole || (!this.pace && left >= COUNTDOWN_S)) return null;
    return { left, whole: this.pace || COUNTDOWN_S };
  }

  _tick() {
    super._tick();
    if (this.pace && this._time()?.left <= 0) this._send(0);
  }

  _refused(problem) {
    if (!problem.status) this._stop(problem.message); // otherwise the events say how the game has ended
  }

  _giveUp() {
    if (this.over) this.done.choose();
    else if (window.confirm('End this game?')) this._stop('You gave up.');
  }

  // ---- The board ----

  get chooses() {
    return true;
  }

  show() {
    super.show();
    if (!this.box) return; // the parts of this class are not there yet
    const { clock, game } = this, state = clock.state, turn = this.box.checked ? this._decision(state) : null;
    if (state === this.marked && turn === this.markedTurn) return;
    [this.marked, this.markedTurn] = [state, turn];
    // The marks show the game from the side of the selected bot.
    const its = Object.create(game, { me: { value: this.bot } });
    this.board.mark(turn ? marksOf(MARKS, its, { state, turn, hero: this.bot }) : null);
    this.why.show(turn, state);
  }

  // ---- How the bots decided ----

  _choose(hero) {
    if (!this.others.includes(hero)) return;
    this.bot = hero;
    this.marked = null;
    for (const tab of this.tabs) set(tab, { 'aria-pressed': String(Number(tab.dataset.hero) === hero) });
    this.show();
  }

  /** Return the selected bot's last decision at or before a state. */
  _decision(state) {
    return this.turns[this.bot].findLast((turn) => turn.ply < Math.max(1, state)) ?? null;
  }

  _votes(on) {
    this.box.checked = on;
    this.decisions.hidden = !on;
    store(MEMORY, on ? 'on' : 'off');
    this._choose(this.bot);
    if (on && !this.listening) this._listen();
  }

  /** Request the votes as long as they are shown. */
  async _listen() {
    this.listening = true;
    const { signal } = this.ends;
    while (this.box.checked && !signal.aborted) {
      try {
        const { turns, over } = await api.votes(this.begun.secret, this.known, signal);
        for (const turn of turns) this.turns[turn.hero].push(turn);
        this.known += turns.length;
        if (turns.length) this.show();
        if (over && !turns.length) break;
      } catch (problem) {
        if (problem.status || signal.aborted) break;
        await api.pause(1000);
      }
    }
    this.listening = false;
  }

  // ---- The end ----

  async _end() {
    if (this.game.ending.kind === 'finished') {
      super._end();
      return;
    }
    const { late } = await api.votes(this.begun.secret, 1e9).catch(() => ({ late: false }));
    const time = this.limit ? `longer than ${this.limit} s` : 'too long';
    if (late) this._stop(`A move took ${time}: your hero crashed, and the game has ended.`, 'You were too late');
    else this._stop('The server has ended the game.');
  }

  /** End the game on this page before it is over. `words` say why. */
  _stop(words, head = 'The game has ended') {
    if (!this.over) api.leave(this.begun.secret);
    this._finish(head, words);
  }

  _finish(head, words) {
    const act = (label, press, kind) => el('button', { type: 'button', class: kind, on: { click: press },
      text: label });
    this.leaving.hidden = true;
    super._finish(head, words, [
      act('Play again', () => this.done.again(), 'go'),
      act('New choice', () => this.done.choose(), 'roomy'),
    ]);
  }
}
