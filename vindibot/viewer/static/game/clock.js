// The time of the page: it plays, pauses, steps, and follows the end of a live game.

export const SPEEDS = [1, 2, 4, 8, 16, 32, 64];
/** Plies per second at speed 1: a round per second, as on the original server. */
const PACE = 4;
/** A clock that follows a live game jumps to the end if it is more than this number of plies behind. */
const FAR = 40;

export class Clock {
  /** `last()` returns the number of the last known state; `shown(clock)` is called when the page must be drawn
   *  again. */
  constructor(last, shown) {
    this.last = last;
    this.shown = shown;
    this.time = 0;
    this.playing = false;
    this.speed = 1;
    this.following = false; // the end of a live game
    this.touched = false; // the user has changed the time
    // "live": states come as they are played; "loading": the states of a stored game come; "": all are there
    this.grows = '';
    this.still = false; // no movement between states
    this.rest = null; // seconds at the last state before the game begins again; null: the game ends there
    this.from = () => 0; // the state at which it begins again
    this._rested = 0;
    this._before = null;
    this._frame = (now) => this._tick(now);
  }

  /** The state that is shown. */
  get state() {
    return Math.min(this.last(), Math.ceil(this.time - 1e-9));
  }

  /** Plies per second; 0 while nothing moves. */
  get pace() {
    return this._moves() ? PACE * this.speed : 0;
  }

  _moves() {
    return (this.playing || this.following) && this.time < this.last();
  }

  /** Play. At the newest state of a game that grows, wait for further states; at the end, begin again. */
  play() {
    if (this.time >= this.last()) {
      if (this.grows === 'live') return this.follow();
      if (!this.grows) this.time = 0;
    }
    this.playing = true;
    this.redraw();
  }

  pause() {
    this.touched = true;
    this.playing = false;
    this.following = false;
    this.time = this.state;
    this.shown(this);
  }

  toggle() {
    if (this.playing || this.following) this.pause();
    else this.play();
  }

  /** Go to a state, and stop following. */
  go(state) {
    this.following = false;
    this.touched = true;
    this.time = Math.max(0, Math.min(this.last(), state));
    this.shown(this);
  }

  /** Go to a state and pause. */
  halt(state) {
    this.playing = false;
    this.go(state);
  }

  step(plies) {
    this.halt(this.state + plies);
  }

  setSpeed(speed) {
    this.speed = speed;
    this.shown(this);
  }

  faster(way) {
    this.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(this.speed) + way))]);
  }

  /** Go to the end of a live game and stay there as it grows. */
  follow() {
    this.following = true;
    this.playing = false;
    this.time = this.last();
    this.shown(this);
  }

  /** Note that the game is complete. A clock that follows goes on to the last state. */
  settle() {
    this.grows = '';
    if (!this._moves()) this._arrive();
    this.redraw();
  }

  /** Note that the game has grown. */
  grown() {
    if (this.following && (this.last() - this.time > FAR || this.still)) this.time = this.last();
    this.redraw();
  }

  /** Draw the page in the next frame, once for all calls before it. */
  redraw() {
    if (this._running) return;
    this._before = null;
    this._running = true;
    requestAnimationFrame(this._frame);
  }

  /** Go back to the state `from()` once the last state of the complete game was shown for `rest` seconds. */
  _again(passed) {
    this._rested += passed;
    if (this._rested < this.rest) return;
    this.time = this.from();
    this._rested = 0;
  }

  _tick(now) {
    const passed = this._before === null ? 0 : Math.min(0.25, (now - this._before) / 1000);
    this._before = now;
    if (this._moves()) {
      // The further a following clock is behind, the faster it goes.
      const behind = this.following ? this.last() - this.time : 0;
      this.time = Math.min(this.last(), this.time + passed * Math.max(PACE * this.speed, behind * 4));
      this._rested = 0;
      if (this.time === this.last()) this._arrive();
    } else if (this._loops()) this._again(passed);
    this.shown(this);
    this._running = this._moves() || this._loops();
    if (this._running) requestAnimationFrame(this._frame);
  }

  _arrive() {
    if (this.grows === 'live') this.following = true;
    else if (!this.grows) this.following = false;
    this.playing &&= this.grows === 'loading' || this._loops();
  }

  /** Return whether the complete game is at its end, and begins again. */
  _loops() {
    return this.playing && this.rest !== null && !this.grows;
  }
}
