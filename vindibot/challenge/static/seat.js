// One game with a hero to steer.

import { Show } from './show.js';
import { keys, pad, touches } from './steer.js';
import { el } from '/viewer/dom.js';
import { MINE, TAVERN, WOOD } from '/viewer/board.js';
import { DIRECTIONS } from '/viewer/names.js';

const PLACES = ['', 'first', 'second', 'third', 'fourth'];

export class Seat extends Show {
  constructor(host, bundle, options) {
    super(host, bundle, options);
    this.sends = null; // the function that sends a move, as soon as we have joined
    this.queued = null; // the direction that was chosen while the opponents moved
    this.sent = -1; // the last turn for which a move was sent
    this.pad = pad((direction) => this.move(direction, false));
    this.hint = el('p', { class: 'hint keys-hint' }, 'Arrow keys steer, ', el('kbd', { text: 'space' }), ' or ',
      el('kbd', { text: '.' }), ' stays. You can also click or swipe on the board.');
    this.around = el('p', { class: 'unseen', role: 'status' });
    this.stage.append(this.pad, this.hint, this.around);
    this._steer();
  }

  _steer() {
    this.steering = new AbortController();
    const { signal } = this.steering, move = (direction, held) => this.move(direction, held);
    keys(move, signal);
    touches(this.board, this.game, move, signal);
    // A clicked button loses the focus. Otherwise the space bar would press it again.
    let pointed = false;
    document.addEventListener('pointerdown', () => { pointed = true; }, { signal, capture: true });
    document.addEventListener('keydown', () => { pointed = false; }, { signal, capture: true });
    document.addEventListener('click', (event) => {
      if (pointed && !event.target.closest?.('input[type=text]')) setTimeout(() => document.activeElement?.blur());
    }, { signal });
  }

  /** Play the game with this id to the end. `sends` sends a move: a direction, the turn, and a function that is
   *  called with true when the connection is lost, and with false when it is back. */
  play(id, sends) {
    this.sends = sends;
    this.follow(id);
    this._ask();
  }

  /** Note whether it is our turn. If a direction was queued, send it. */
  _ask() {
    const { game } = this, now = game.turns[game.last];
    const ours = !this.over && !game.ending && game.mover(game.last) === game.me &&
      !game.hero(game.last, game.me).crashed;
    if (!ours) this.turn = null;
    else if (now !== this.turn && now > this.sent) {
      this.turn = now;
      this.asked = performance.now();
      this.around.textContent = this._surroundings();
      if (this.queued !== null) this._send(this.queued);
    }
    this.show();
  }

  _grow(patches) {
    super._grow(patches);
    this._ask();
  }

  /** Return our hero's life and gold, what happened since its last move, and what is beside it, in words. */
  _surroundings() {
    const { game } = this, { size, me, last } = game, { square, life, gold } = game.hero(last, me);
    const column = square % size,
      row = Math.floor(square / size);
    const what = (at, inside) => {
      const hero = game.heroes(last).findIndex((one) => inside && one.square === at),
        tile = inside ? game.tiles[at] : WOOD;
      if (hero >= 0) return `hero ${hero + 1}`;
      if (tile !== MINE) return tile === WOOD ? 'blocked' : tile === TAVERN ? 'tavern' : 'free';
      const owner = game.owners[last][game.mineIndex.get(at)] - 1;
      return owner === me ? 'your mine' : owner < 0 ? 'mine of nobody' : `mine of hero ${owner + 1}`;
    };
    const beside = [
      what(square - size, row > 0),
      what(square + size, row < size - 1),
      what(square + 1, column < size - 1),
      what(square - 1, column > 0),
    ];
    const places = beside.map((place, index) => `${DIRECTIONS[index + 1]} ${place}`).join(', ');
    return `${this._happened(last)} Your life is ${life}, your gold ${gold}. ${places}.`;
  }

  /** Move in a direction. While the opponents move, the direction is queued, unless it repeats because a key is held
   *  down. */
  move(direction, held) {
    if (this.over) return;
    if (this.turn !== null) this._send(direction);
    else if (!held) this.queued = direction;
  }

  _send(direction) {
    const { turn } = this;
    this.sent = turn;
    this.turn = this.queued = null;
    this.show();
    this.sends(DIRECTIONS[direction], turn, (lost) => this._connected(lost ? 'Connection lost, trying again' : ''))
      .catch((problem) => this._refused(problem));
  }

  /** A move was refused. The events of the game show how it goes on. */
  _refused() {}

  // ---- The end ----

  _end() {
    const { game } = this, heroes = game.heroes(game.last), { gold } = heroes[game.me];
    if (game.ending.kind !== 'finished') {
      super._end();
      return;
    }
    const rank = 1 + heroes.filter((hero) => hero.gold > gold).length,
      shared = heroes.filter((hero) => hero.gold === gold).length > 1;
    this._finish(rank === 1 && !shared ? 'You have won!' : `You came ${shared ? 'equal ' : ''}${PLACES[rank]}`,
      `with ${gold} gold.`);
  }

  _finish(head, words, acts) {
    this.pad.hidden = this.hint.hidden = true;
    this.steering.abort();
    this.board.host.classList.remove('steered');
    super._finish(head, words, acts);
  }

  remove() {
    this.steering.abort();
    super.remove();
  }
}
