// The seat of the hero that we steer.

import { keys, pad, touches } from './steer.js';
import { el } from '../core/dom.js';
import { DIRECTIONS, MINE, TAVERN, WOOD } from '../game/names.js';

export class Seat {
  /** Steer the hero of a `GameView`. If the person has not moved after `pace` seconds, the hero stays (0: never).
   *  `send` sends a move: a direction, the turn, and a function that is called with true when the connection is lost,
   *  and with false when it is back. */
  constructor(view, pace, send) {
    this.view = view;
    this.pace = pace;
    this.send = send;
    this.queued = null; // the direction that was chosen while the opponents moved
    this.sent = -1; // the last turn for which a move was sent
    this.pad = pad((direction) => this.move(direction, false));
    this.hint = el('p', { class: 'hint keys-hint' }, 'Arrow keys steer, ', el('kbd', { text: 'space' }), ' or ',
      el('kbd', { text: '.' }), ' stays. You can also click or swipe on the board.');
    this.around = el('p', { class: 'unseen', role: 'status' });
    view.said.before(this.pad); // it stays where it is when the text below it takes another line
    view.stage.append(this.hint, this.around);
    this._steer();
    this.grown();
  }

  _steer() {
    this.steering = new AbortController();
    const { signal } = this.steering, move = (direction, held) => this.move(direction, held);
    keys(move, signal);
    touches(this.view.board, this.view.game, move, signal);
    // A clicked button loses the focus. Otherwise the space bar would press it again.
    let pointed = false;
    document.addEventListener('pointerdown', () => { pointed = true; }, { signal, capture: true });
    document.addEventListener('keydown', () => { pointed = false; }, { signal, capture: true });
    document.addEventListener('click', (event) => {
      const { target } = event, active = document.activeElement;
      if (!pointed || (target instanceof Element && target.closest('input[type=text]'))) return;
      if (active instanceof HTMLElement) setTimeout(() => active.blur());
    }, { signal });
  }

  /** Note whether it is our turn. If a direction was queued, send it. */
  grown() {
    const { view } = this, { game } = view, now = game.turns[game.last];
    const ours = !view.over && !game.ending && game.mover(game.last) === game.me &&
      !game.hero(game.last, game.me).crashed;
    if (!ours) view.turn = view.until = null;
    else if (now !== view.turn && now > this.sent) {
      view.turn = now;
      view.until = this.pace ? { at: performance.now() + 1000 * this.pace, seconds: this.pace } : null;
      this.around.textContent = this._surroundings();
      if (this.queued !== null) this._send(this.queued);
    }
    view.clock.redraw();
  }

  /** Return our hero's life and gold, what happened since its last move, and what is beside it, in words. */
  _surroundings() {
    const { game } = this.view, { size, me, last } = game, { square, life, gold } = game.hero(last, me);
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
    return `${this.view.happened(last)} Your life is ${life}, your gold ${gold}. ${places}.`;
  }

  /** Move in a direction. While the opponents move, the direction is queued, unless it repeats because a key is held
   *  down. */
  move(direction, held) {
    if (this.view.over) return;
    if (this.view.turn !== null) this._send(direction);
    else if (!held) this.queued = direction;
  }

  late() {
    this._send(0);
  }

  _send(direction) {
    const { view } = this, { turn } = view;
    this.sent = turn;
    view.turn = view.until = this.queued = null;
    view.clock.redraw();
    this.send(DIRECTIONS[direction], turn, (lost) => view.connected(lost ? 'Connection lost, trying again' : ''))
      .catch((problem) => !problem.status && view.connected(problem.message)); // else the events show how it goes on
  }

  finished() {
    this.pad.hidden = this.hint.hidden = true;
    this.steering.abort();
    this.view.board.host.classList.remove('steered');
  }
}
