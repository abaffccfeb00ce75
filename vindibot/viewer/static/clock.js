// The time of the page: it plays, pauses, steps, and follows the end of a live game.

export const SPEEDS = [1, 2, 4, 8, 16, 32, 64];
/** Plies per second at speed 1: a round per second, as on the original server. */
export const PACE = 4;
/** A clock that follows a live game jumps to the end if it is more than this number of plies behind. */
const FAR = 40;

export class Clock {
  /** `last()` returns the number of the last known state; `shown(clock)` is called when the page must be drawn again. */
  constructor(last, shown) {
    this.last = last;
    this.shown = shown;
    this.time = 0;
    this.playing = false;
    this.speed = 1;
    this.following = false; // the end of a live game
    this.touched = false; // the user has changed the time
    this.over = false; // the game is complete
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
    return this.playing || this._settling() ? PACE * this.speed : 0;
  }

  _settling() {
    return this.following && this.time < this.last();
  }

  play() {
    if (this.playing) return;
    if (this.time >= this.last() && !this.following) this.time = 0;
    this.playing = true;
    this._start();
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
    this.over = true;
    if (!this._settling()) this.following = false;
  }

  /** Note that the game has grown. */
  grown() {
    if (this.following) {
      if (this.last() - this.time > FAR || this.still) this.time = this.last();
      this._start();
    }
    this.shown(this);
  }

  _start() {
    this._before = null;
    if (!this._running) {
      this._running = true;
      requestAnimationFrame(this._frame);
    }
    this.shown(this);
  }

  /** Go back to the state `from()` once the last state of the complete game was shown for `rest` seconds. */
  _again(passed) {
    this._rested += passed;
    if (!this.over || this._rested < this.rest) return;
    this.time = this.from();
    this._rested = 0;
  }

  _tick(now) {
    const passed = this._before === null ? 0 : Math.min(0.25, (now - this._before) / 1000);
    this._before = now;
    const behind = this.last() - this.time;
    // The further a following clock is behind, the faster it goes.
    const pace = this._settling() ? Math.max(PACE * this.speed, behind * 4) : PACE * this.speed;
    const going = this.playing || this._settling();
    if (going) {
      this.time = Math.min(this.last(), this.time + passed * pace);
      if (this.time < this.last()) this._rested = 0;
      else if (this.playing && this.rest !== null) this._again(passed);
      else {
        this.playing = false;
        if (this.over) this.following = false;
      }
      this.shown(this);
    }
    if (this.playing || this._settling()) requestAnimationFrame(this._frame);
    else this._running = false;
  }
}
