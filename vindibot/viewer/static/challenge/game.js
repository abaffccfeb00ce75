// One game as everybody sees it: the board, the heroes, whose turn it is, the time that is left, and the result. The
// server sends the states as events, ply by ply. Other parts are added to it: the ways to steer a hero (seat.js), the
// votes of the bots (votes.js).

import { Board } from '../board/board.js';
import { Clock } from '../game/clock.js';
import { el, foreign, set } from '../core/dom.js';
import { Game } from '../game/model.js';
import { Scenes } from '../game/scene.js';
import { Stream } from '../core/stream.js';
import { HeroTable } from '../parts/table.js';

/** Smallest speed at which the moves of the opponents are shown. If several moves are waiting, they are shown
 *  faster. */
const SPEED = 2;
/** Milliseconds between two updates of the time that is left. */
const TICK_MS = 100;

/** The server's limit in milliseconds for a move without a time limit. */
const UNTIMED_MS = 86_400_000;
const PLACES = ['', 'first', 'second', 'third', 'fourth'];

export class GameView {
  /** Show the game of a bundle in the element `host`. */
  constructor(host, bundle, look) {
    this.game = new Game(bundle);
    this.id = null; // the id of the game, as soon as it is known
    this.turn = null; // the number of our turn while the page waits for our move
    this.until = null; // the time at which the page moves for us
    this.trouble = ''; // with the connection, in words
    this.over = false;
    this.people = null; // who plays and who is away (see `update`)
    this.since = performance.now(); // the time of the last ply
    this.heard = () => null; // called after each ply
    this.acts = []; // the buttons beside the result
    this.parts = []; // see `add`
    this.ends = new AbortController(); // the end of this view
    this.scenes = new Scenes(this.game);
    this.clock = new Clock(() => this.game.last, () => this.show());
    this.clock.speed = SPEED;
    this.clock.grows = 'live';
    this._build(host);
    this.setLook(look);
    this.clock.follow();
    this.ticking = setInterval(() => this._tick(), TICK_MS);
  }

  /** Add a part. Its methods, all of them optional, are called after an event: `shown(state)`, `grown()` (a ply),
   *  `late()` (`until` is over), `finished()` (also before it is removed), and `chosen(hero)` (in the table). */
  add(part) {
    this.parts.push(part);
    for (const { pick } of this.table.rows) set(pick, { disabled: !this.parts.some(({ chosen }) => chosen) });
    this.shownState = null;
    this.show();
  }

  _tell(event, ...about) {
    for (const part of this.parts) part[event]?.(...about);
  }

  _build(host) {
    const { game } = this;
    const board = el('div', {}),
      table = el('section', { class: 'panel', 'aria-label': 'Heroes' });
    this.board = new Board(board, game);
    this.table = new HeroTable(table, game, (hero) => this._tell('chosen', hero));
    for (const mark of table.querySelectorAll('.ours')) mark.textContent = 'you';
    for (const { pick } of this.table.rows) set(pick, { disabled: true, title: null });
    this.turnNow = el('p', { class: 'turn', role: 'status' });
    this.seconds = el('span', { class: 'seconds' });
    this.left = el('span', { class: 'fill' });
    this.said = el('p', { class: 'said' });
    this.result = el('section', { class: 'panel result', 'aria-label': 'Result', hidden: true });
    this.turnRow = el('div', { class: 'row turnrow' }, this.turnNow, this.seconds);
    const bar = el('div', { class: 'lefttime', 'aria-hidden': 'true' }, this.left);
    this.stage = el('div', { class: game.me < 0 ? 'stage watched' : 'stage' }, this.turnRow, bar, board, this.said);
    this.side = el('div', { class: 'side' }, this.result, table);
    host.append(this.stage, this.side);
  }

  /** Follow the game with this id to its end. */
  follow(id) {
    this.id = id;
    this.source = new Stream(`/plies/${id}`, (patches) => this._grow(patches), ({ words }) => this.connected(words));
  }

  _grow(patches) {
    const before = this.game.last;
    if (patches.filter((patch) => this.game.apply(patch)).length) this.clock.grown();
    if (this.game.last > before) {
      this.since = performance.now();
      this.heard();
    }
    if (this.game.ending && !this.over) this._end();
    this._tell('grown');
  }

  /** Show what is wrong with the connection, '' for nothing. */
  connected(trouble) {
    this.trouble = trouble;
    this.clock.redraw();
  }

  /** Note who plays and who is away, and the time that is left. `state` is the host's state. */
  update({ heroes, game }) {
    const away = heroes.map(({ person, here }) => person && !here);
    this.people = { ...game, away, at: performance.now() };
    this.clock.redraw();
  }

  // ---- The board and the texts ----

  show() {
    const { clock, game } = this, state = clock.state;
    this.board.frame(this.scenes.at(clock.time, clock.still ? 0 : clock.pace));
    if (state !== this.shownState || game.ending !== this.shownEnding) {
      this.shownState = state;
      this.shownEnding = game.ending;
      this.table.show(state);
      this.table.finish();
      this.said.textContent = this.happened(state);
      this.board.describe(game.inWords(state, true));
    }
    if (!this.over) this._status();
    this._tell('shown', state);
  }

  /** Return the events of the round before a state, in words. */
  happened(state) {
    const { game } = this,
      states = [state - 3, state - 2, state - 1, state].filter((one) => game.plies[one - 1]?.e);
    const words = states.flatMap((one) => game.happened(one));
    return words.length ? `${words.join('. ')}.` : '';
  }

  _status() {
    const { game } = this, round = Math.floor(game.turns[game.last] / 4) + 1, rounds = game.bundle.max_turns / 4;
    const word = this.trouble || (this.turn !== null ? 'Your move' : this.id ? this._moving(game.mover(game.last)) :
      'The game begins');
    const whole = `Round ${Math.min(round, rounds)} of ${rounds}. ${word}`;
    if (this.turnNow.textContent !== whole) this.turnNow.textContent = whole;
    this.turnNow.classList.toggle('ours-now', this.turn !== null);
  }

  /** Return the words for the time in which another hero moves. */
  _moving(hero) {
    return this.people?.people.includes(hero) && this.people.away[hero] ? `${this.game.names[hero]} is away` :
      `${this.game.names[hero]} moves`;
  }

  /** Return the time for the current move, in seconds: `left` of `whole`. Return null if no time is shown. */
  _time() {
    const { game, people } = this, hero = game.mover(game.last), now = performance.now();
    if (this.until) return { left: (this.until.at - now) / 1000, whole: this.until.seconds };
    if (!people?.people.includes(hero) || people.limits_ms[hero] >= UNTIMED_MS) return null;
    const whole = people.limits_ms[hero] / 1000;
    const known = people.turn === game.turns[game.last];
    const left = known ? (people.left_ms - now + people.at) / 1000 : whole - (now - this.since) / 1000;
    return { left: Math.min(left, Math.max(whole, people.left_ms / 1000)), whole };
  }

  _tick() {
    const time = this.over ? null : this._time(),
      left = time && Math.max(0, time.left);
    this.left.style.width = time ? `${Math.min(100, (100 * left) / time.whole)}%` : '0';
    this.left.className = `fill ${time && left < time.whole / 3 ? 'bad' : 'good'}`;
    this.seconds.textContent = time ? `${Math.ceil(left)} s left` : '';
    if (this.until && left <= 0) this._tell('late');
  }

  // ---- The end ----

  /** The game has ended on the server. */
  _end() {
    const { ending, results, names, me } = this.game, best = (results ?? []).filter(({ rank }) => rank === 1);
    const ours = results?.find(({ hero }) => hero === me);
    if (ending.kind !== 'finished' || !best.length) this.finish('The game has ended', 'It was ended early.');
    else if (ours) this.finish(this._place(ours.rank), `with ${this.game.hero(this.game.last, me).gold} gold.`);
    else this.finish(best.length > 1 ? 'No winner: the best are equal' :
      [foreign(names[best[0].hero]), ' has won!'], '');
  }

  /** Return how we ended, in words. */
  _place(rank) {
    const shared = this.game.results.filter((result) => result.rank === rank).length > 1;
    if (shared) return `You tied for ${PLACES[rank]} place`;
    return rank === 1 ? 'You have won!' : `You came ${PLACES[rank]}`;
  }

  /** Show the result. `head` has the parts of the heading, `words` a sentence. */
  finish(head, words) {
    if (this.over) return;
    this.over = true;
    this.turn = this.until = null;
    this._tell('finished');
    this._tick();
    const link = this.id && el('a', { class: 'button', href: `/${this.id}`, target: '_blank', rel: 'noopener' });
    link?.append('View the game');
    this.result.replaceChildren(el('h2', { tabindex: -1 }, head), words ? el('p', { text: words }) : '',
      el('p', { class: 'row' }, this.acts, link));
    this.result.hidden = false;
    this.turnNow.textContent = this.game.ending?.kind === 'finished' ? 'The game is over.' : 'The game has ended.';
    this.turnNow.classList.remove('ours-now');
    // No button gets the focus: a person who still presses the space bar does not want to start another game.
    this.result.firstChild.focus({ preventScroll: true });
    this.result.scrollIntoView({ block: 'nearest' });
    this.show();
  }

  setLook({ theme, still }) {
    this.board.setTheme(theme);
    this.clock.still = still;
  }

  remove() {
    this.over = true;
    this._tell('finished');
    clearInterval(this.ticking);
    this.ends.abort();
    this.source?.close();
    this.board.remove();
  }
}
