// Scenes for a board. A scene has the positions of the heroes at a time, which may be between two states, and the
// effects of events.

import { CRASHED, LIFE, SQUARE } from './model.js';

/** At this number of plies per second or more, no numbers are drawn over heroes, because the numbers would cover
 *  each other. */
const HASTE = 40;
/** The column and the row of a hero that is not on the board. */
const NOWHERE = -9;

function ease(p) {
  return p < 0.5 ? 2 * p * p : 1 - 2 * (1 - p) * (1 - p);
}

/** Return the duration of a step and of an effect in plies, at `pace` plies per second. */
function stretches(pace) {
  return { step: Math.max(1, Math.min(4, 0.12 * pace)), effect: Math.max(1, 0.35 * pace) };
}

/** Makes scenes of a game. The same arrays are used for all frames, so that a frame allocates little memory. */
export class Scenes {
  constructor(game) {
    this.game = game;
    this.scene = {
      owners: new Uint8Array(game.size * game.size),
      heroes: [0, 1, 2, 3].map(() => ({ x: 0, y: 0, life: 0, crashed: false, alpha: 1 })),
      effects: [],
    };
    this.shownOwners = null;
  }

  /** Return the scene at `time`, which is the number of a state, or a fraction between two states. If `pace` is 0, a
   *  scene shows a whole state, with the effects of the ply before it. */
  at(time, pace) {
    const { game, scene } = this;
    const state = Math.min(game.last, Math.ceil(time - 1e-9));
    const { step, effect } = stretches(pace);
    this._own(state);
    for (let hero = 0; hero < 4; hero++) this._place(scene.heroes[hero], hero, state, pace ? time : state, step);
    scene.effects.length = 0;
    scene.hasty = pace > HASTE;
    if (!pace) this._effects(state, 0.3);
    else for (let k = Math.max(1, Math.ceil(time - effect)); k <= state; k++)
      this._effects(k, (time - (k - 1)) / effect);
    return scene;
  }

  _own(state) {
    const owners = this.game.owners[state];
    if (owners === this.shownOwners) return;
    this.shownOwners = owners;
    for (let i = 0; i < owners.length; i++) this.scene.owners[this.game.mineSquares[i]] = owners[i];
  }

  _place(shown, hero, state, time, step) {
    const { game } = this,
      { size } = game;
    const square = game.value(state, hero, SQUARE),
      moved = game.movedAt[state * 4 + hero];
    const done = moved ? Math.max(0, Math.min(1, (time - (moved - 1)) / step)) : 1;
    shown.life = game.value(state, hero, LIFE);
    shown.crashed = game.value(state, hero, CRASHED) === 1;
    shown.alpha = 1;
    if (square < 0) {
      shown.x = shown.y = NOWHERE;
      return;
    }
    shown.x = square % size;
    shown.y = Math.floor(square / size);
    if (done >= 1) return;
    const from = game.value(moved - 1, hero, SQUARE),
      x = from % size,
      y = Math.floor(from / size);
    if (Math.abs(x - shown.x) + Math.abs(y - shown.y) === 1) {
      const p = ease(done);
      shown.x = x + (shown.x - x) * p;
      shown.y = y + (shown.y - y) * p;
    } else if (done < 0.5) {
      // the hero fades where it died and appears at its spawn
      shown.x = x;
      shown.y = y;
      shown.alpha = 1 - 2 * done;
    } else shown.alpha = 2 * done - 1;
  }

  _effects(state, t) {
    if (state < 1 || t >= 1) return;
    const { game } = this,
      events = game.plies[state - 1].e;
    if (!events) return;
    const { size } = game,
      add = (kind, square, rest) => {
        if (square >= 0)
          this.scene.effects.push({ kind, x: square % size, y: Math.floor(square / size), t: Math.max(0, t), ...rest });
      };
    for (const [kind, hero, a, b] of events) {
      if (kind === 'blow') {
        const from = game.value(state, hero, SQUARE),
          on = this._struck(state, a);
        add('blow', on, { hero, fromX: from % size, fromY: Math.floor(from / size) });
      } else if (kind === 'kill') add('death', this._struck(state, a), { hero: a });
      else if (kind === 'death') add('death', game.value(state - 1, hero, SQUARE), { hero });
      else if (kind === 'mine') add('mine', a, { hero });
      else if (kind === 'beer') add('beer', game.value(state, hero, SQUARE), { hero, amount: b });
      else if (kind === 'respawn') add('respawn', b, { hero });
    }
  }

  /** Return the square of a hero that was struck in the ply before `state`: the hero's square in this state, or
   *  before the hero's respawn. */
  _struck(state, hero) {
    const respawn = this.game.plies[state - 1].e.find(([kind, who]) => kind === 'respawn' && who === hero);
    return respawn ? respawn[2] : this.game.value(state, hero, SQUARE);
  }
}
