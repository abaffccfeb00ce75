// Scenes for a board: where everybody is at a moment, whole states or between two, and what is seen of what happened.

import { CRASHED, LIFE, SQUARE } from 'viewer/model.js';

/** From this many plies in a second on, numbers over heroes would only cover each other. */
const HASTE = 40;
/** The columns and rows of heroes who are not on the board. */
const NOWHERE = -9;

function ease(p) {
  return p < 0.5 ? 2 * p * p : 1 - 2 * (1 - p) * (1 - p);
}

/** How long, in plies, a step and an effect are seen when `pace` plies pass in a second. */
export function stretches(pace) {
  return { step: Math.max(1, Math.min(4, 0.12 * pace)), effect: Math.max(1, 0.35 * pace) };
}

/** Makes scenes of a game; it keeps the arrays that a frame fills, so that nothing is thrown away sixty times a second. */
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

  /** The scene at `time`, a state's number or a fraction on the way to the next. Still scenes (`pace` 0) show whole states
   *  and what led to them. */
  at(time, pace) {
    const { game, scene } = this;
    const state = Math.min(game.last, Math.ceil(time - 1e-9));
    const { step, effect } = stretches(pace);
    this._own(state);
    for (let hero = 0; hero < 4; hero++) this._place(scene.heroes[hero], hero, state, pace ? time : state, step);
    scene.effects.length = 0;
    scene.hasty = pace > HASTE;
    if (!pace) this._effects(state, 0.3);
    else for (let k = Math.max(1, Math.ceil(time - effect)); k <= state; k++) this._effects(k, (time - (k - 1)) / effect);
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
      // he fades where he died and comes back at his spawn
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

  /** Where somebody stood who was struck in the ply that led to `state`: the mover may have stepped in it, others have not. */
  _struck(state, hero) {
    const respawn = this.game.plies[state - 1].e.find(([kind, who]) => kind === 'respawn' && who === hero);
    return respawn ? respawn[2] : this.game.value(state, hero, SQUARE);
  }
}
