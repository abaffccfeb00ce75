// One game. The page sends the person's moves to the server as any client does. The server sends the states as events, ply by
// ply. The host sends the votes of the bots.

import * as api from './api.js';
import { keys, pad, touches } from './steer.js';
import { Board } from 'viewer/board.js';
import { Clock } from 'viewer/clock.js';
import { button, el, foreign, set } from 'viewer/dom.js';
import { follow } from 'viewer/live.js';
import { Game, describe } from 'viewer/model.js';
import { DIRECTIONS } from 'viewer/names.js';
import { marksOf } from 'viewer/overlays.js';
import { Scenes } from 'viewer/scene.js';
import { HEROES } from 'viewer/sprites.js';
import { HeroTable } from 'viewer/table.js';
import { Why } from 'viewer/why.js';

/** Smallest speed at which the moves of the opponents are shown. If several moves are waiting, they are shown faster. */
const SPEED = 2;
/** When no more than this number of seconds is left, the page shows the number. */
const COUNTDOWN_S = 15;
const PLACES = ['', 'first', 'second', 'third', 'fourth'];
const MARKS = new Set(['sums', 'line', 'goals']);
const MEMORY = 'vindibot-challenge-votes';

function votesWanted() {
  try {
    return localStorage.getItem(MEMORY) === 'on';
  } catch {
    return false;
  }
}

export class Play {
  /** `begun` is the host's answer. `pace` is the number of seconds after which the hero stays if the person has not moved (0:
   *  never). `limit` is the server's limit in seconds (0: none). `done` has the functions for the end of the game: `again`,
   *  `choose`. */
  constructor(host, begun, { pace, limit, theme, still }, done) {
    this.begun = begun;
    this.pace = pace;
    this.limit = limit;
    this.done = done;
    this.game = new Game(begun.bundle);
    this.others = [0, 1, 2, 3].filter((hero) => hero !== this.game.me);
    this.bot = this.others[0];
    this.turns = [[], [], [], []]; // the decisions of the bots, by hero
    this.known = 0;
    this.turn = null; // the number of our turn while the page waits for our move
    this.queued = null;
    this.over = false;
    this.ends = new AbortController();
    this.scenes = new Scenes(this.game);
    this.clock = new Clock(() => this.game.last, () => this.show());
    this.clock.speed = SPEED;
    this.clock.still = still;
    this._build(host);
    this.board.setTheme(theme);
    this.clock.follow();
    this._steer();
    this._votes(votesWanted());
  }

  _build(host) {
    const { game } = this, { bundle } = game;
    const table = el('section', { class: 'panel', 'aria-label': 'Heroes' }), why = el('div', {});
    const board = el('div', {});
    this.board = new Board(board, { size: game.size, tiles: game.tiles, names: game.names, me: game.me, spawns: bundle.spawns });
    this.table = new HeroTable(table, game, (hero) => this._choose(hero));
    for (const mark of table.querySelectorAll('.ours')) mark.textContent = 'you';
    this.why = new Why(why, game);
    this.turnNow = el('p', { class: 'turn', role: 'status' });
    this.left = el('span', { class: 'fill' });
    this.bar = el('div', { class: 'lefttime', 'aria-hidden': 'true' }, this.left);
    this.said = el('p', { class: 'said' });
    this.pad = pad((direction) => this.move(direction, false));
    this.hint = el('p', { class: 'hint keys-hint' }, 'Arrow keys steer, ', el('kbd', { text: 'space' }), ' or ', el('kbd', { text: '.' }), ' stays. You can also click or swipe on the board.');
    this.box = el('input', { type: 'checkbox', on: { change: () => this._votes(this.box.checked) } });
    this.tabs = this.others.map((hero) => {
      const tab = el('button', { type: 'button', class: 'tab', 'data-hero': hero, on: { click: () => this._choose(hero) } }, el('span', { class: 'number', text: hero + 1 }), foreign(game.names[hero], { class: 'name' }));
      tab.style.setProperty('--hero', HEROES[hero].main);
      return tab;
    });
    this.decisions = el('div', {}, el('div', { class: 'tabs', role: 'group', 'aria-label': 'Bot' }, this.tabs), why);
    const votes = el('section', { class: 'panel why', 'aria-label': 'How the bots decided' },
      el('label', { class: 'switch', title: 'what each trait of a bot voted for its last move (V)' }, this.box, 'Show how the bots decided'), this.decisions);
    this.result = el('section', { class: 'panel result', 'aria-label': 'Result', hidden: true });
    this.leaving = button('Give up', 'Give up', () => this._giveUp(), { class: 'roomy' });
    host.append(
      el('div', { class: 'stage' }, el('div', { class: 'row turnrow' }, this.turnNow, this.leaving), this.bar, board, this.said, this.pad, this.hint),
      el('div', { class: 'side' }, this.result, table, votes));
  }

  _steer() {
    const { signal } = this.ends, move = (direction, held) => this.move(direction, held);
    keys(move, signal);
    touches(this.board, this.game, move, signal);
    document.addEventListener('keydown', (event) => {
      if (event.key.toLowerCase() === 'v' && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest?.('input:not([type=checkbox]), select')) this._votes(!this.box.checked);
    }, { signal });
    window.addEventListener('pagehide', () => api.leave(this.begun.secret), { signal });
    window.addEventListener('beforeunload', (event) => { if (!this.over) event.preventDefault(); }, { signal });
    // A clicked button loses the focus. Otherwise the space bar would press it again.
    let pointed = false;
    document.addEventListener('pointerdown', () => { pointed = true; }, { signal, capture: true });
    document.addEventListener('keydown', () => { pointed = false; }, { signal, capture: true });
    document.addEventListener('click', () => { if (pointed) setTimeout(() => document.activeElement?.blur()); }, { signal });
  }

  // ---- The seat ----

  /** Play to the end. */
  async run() {
    let problem = '';
    try {
      this._take(await api.join(this.begun.key));
      this.source = follow(`/plies/${this.id}`, (patch) => this._grow(patch), (connection) => this._connected(connection));
      while (!this.state.game.finished) {
        const direction = await this._decide();
        this.show();
        this._take(await api.sendMove(this.state.playUrl, DIRECTIONS[direction], this.state.game.turn, (lost) => this._connected(lost ? 'lost' : 'open')));
      }
    } catch (error) {
      if (this.over) return;
      problem = error.message;
    }
    this._finish(problem, /Time out|is finished/.test(problem));
  }

  _take(state) {
    this.state = state;
    this.id = state.game.id;
  }

  /** Return the person's direction: the direction that was queued while the opponents moved, else the next direction that the
   *  person chooses. When the time of the pace is over, return Stay. */
  _decide() {
    return new Promise((decided) => {
      this.turn = this.state.game.turn;
      this.asked = performance.now();
      this.decided = (direction) => {
        clearInterval(this.ticking);
        this.turn = this.queued = null;
        this.decided = null;
        decided(direction);
      };
      if (this.queued !== null) {
        this.decided(this.queued);
        return;
      }
      this.ticking = setInterval(() => this._tick(), 100);
      this._tick();
      this.show();
    });
  }

  /** Move in a direction. While the opponents move, the direction is queued, unless it repeats because a key is held down. */
  move(direction, held) {
    if (this.over) return;
    if (this.decided) this.decided(direction);
    else if (!held) this.queued = direction;
  }

  _tick() {
    const spent = (performance.now() - this.asked) / 1000, whole = this.pace || this.limit;
    const left = whole ? Math.max(0, whole - spent) : Infinity;
    const shown = whole && (this.pace || left < COUNTDOWN_S);
    this.left.style.width = shown ? `${(100 * left) / (this.pace || COUNTDOWN_S)}%` : '0';
    this.left.className = `fill ${left > 5 || this.pace ? 'good' : 'bad'}`;
    if (this.pace && left <= 0) this.decided?.(0);
    else if (shown && !this.pace) this._status(`Your move: ${Math.ceil(left)} s left`);
  }

  _giveUp() {
    if (this.over) this.done.choose();
    else if (window.confirm('End this game?')) this._finish('You gave up.');
  }

  // ---- The board and the texts ----

  _connected(connection) {
    this.connection = connection;
    this.show();
  }

  _grow(patch) {
    if (this.game.apply(patch)) this.clock.grown();
    this.marked = null;
    // If the game ends while the server waits for our move, our hero has crashed.
    if (this.game.ending && this.decided) this._finish('', true);
  }

  show() {
    const { clock, game } = this, state = clock.state;
    this.board.frame(this.scenes.at(clock.time, clock.still ? 0 : clock.pace));
    const turn = this.box?.checked ? this._decision(state) : null;
    if (state !== this.marked || turn !== this.markedTurn) {
      [this.marked, this.markedTurn] = [state, turn];
      // The marks show the game from the side of the selected bot.
      const its = Object.create(game, { me: { value: this.bot } });
      this.board.mark(turn ? marksOf(MARKS, its, { state, turn, hero: this.bot }) : null);
      if (turn) this.why.show(turn, state);
      this.table.show(state);
      this.table.finish();
      const said = game.plies.slice(Math.max(0, state - 4), state).flatMap((ply) => (ply.e ? describe(ply, (hero) => `${hero + 1} ${game.names[hero]}`) : []));
      this.said.textContent = said.join('. ');
      this.board.describe(`The board at turn ${game.turns[state]}. ${game.heroes(state).map((hero, i) => `${i === game.me ? 'You' : game.names[i]}: life ${hero.life}, gold ${hero.gold}, mines ${hero.mines}, row ${Math.floor(hero.square / game.size) + 1}, column ${(hero.square % game.size) + 1}`).join('; ')}.`);
    }
    if (!this.over) this._status();
  }

  _status(text = '') {
    const { game } = this, round = Math.floor(game.turns[game.last] / 4) + 1, rounds = game.bundle.max_turns / 4;
    const mover = game.mover(game.last);
    const word = text || (this.connection === 'lost' ? 'Connection lost, trying again' : this.turn !== null ? 'Your move' : this.id ? `${game.names[mover]} moves` : 'The game begins');
    const whole = `Round ${Math.min(round, rounds)} of ${rounds}. ${word}`;
    if (this.turnNow.textContent !== whole) this.turnNow.textContent = whole;
    this.turnNow.classList.toggle('ours-now', this.turn !== null);
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
    try {
      localStorage.setItem(MEMORY, on ? 'on' : 'off');
    } catch {
      // a browser may refuse to store it
    }
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

  /** End the game on this page. `problem` is the text of an error, empty if there was none. `late` says whether our move was too
   *  late. Without both, the game was played to its end. */
  _finish(problem, late = false) {
    if (this.over) return;
    const whole = !problem && !late;
    this.over = true;
    this.turn = null;
    clearInterval(this.ticking);
    this.left.style.width = '0';
    if (!whole) api.leave(this.begun.secret);
    const heroes = this.state?.game.heroes ?? [], own = heroes[this.game.me];
    const rank = own ? 1 + heroes.filter((hero) => hero.gold > own.gold).length : 0;
    const shared = own ? heroes.filter((hero) => hero.gold === own.gold).length > 1 : false;
    const head = whole ? (rank === 1 && !shared ? 'You have won!' : `You came ${shared ? 'equal ' : ''}${PLACES[rank]}`) : late ? 'You were too late' : 'The game is over';
    const words = whole ? `with ${own.gold} gold.` : late ? `A move took longer than ${this.limit} s: your hero crashed, and the game has ended.` : problem;
    const act = (label, press, kind) => el('button', { type: 'button', class: kind, on: { click: press }, text: label });
    this.result.replaceChildren(el('h2', { tabindex: -1, text: head }), el('p', { text: words }), el('p', { class: 'row' },
      act('Play again', () => this.done.again(), 'go'), act('New choice', () => this.done.choose(), 'roomy'),
      this.id ? el('a', { class: 'button', href: `/${this.id}`, target: '_blank', rel: 'noopener', text: 'View the game' }) : null));
    this.result.hidden = false;
    this.leaving.hidden = this.pad.hidden = this.hint.hidden = true;
    this.turnNow.textContent = whole ? 'The game is over.' : 'The game has ended.';
    this.turnNow.classList.remove('ours-now');
    // No button gets the focus: a person who still presses the space bar does not want to start another game.
    this.result.firstChild.focus({ preventScroll: true });
    this.result.scrollIntoView({ block: 'nearest' });
    this.show();
  }

  setTheme(theme) {
    this.board.setTheme(theme);
  }

  remove() {
    this.over = true;
    clearInterval(this.ticking);
    this.ends.abort();
    this.source?.close();
    this.board.remove();
  }
}
