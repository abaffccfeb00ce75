// The ways to steer a hero: keys, a pad of buttons, swipes over the board, taps on the board. All of them call `move`
// with a direction 0..4 (Stay, North, South, East, West), and with true if the direction repeats because a key is held
// down.

import { SQUARE } from '../game/model.js';
import { button, el, elsewhere, icon } from '../core/dom.js';
import { DIRECTIONS, STEERING } from '../game/names.js';

const KEYS = { ...STEERING, w: 1, s: 2, d: 3, a: 4 };
/** Smallest length of a swipe, in pixels. */
const SWIPE = 22;
const ARROWS = [
  'M12 12h.01',
  'M12 19V5M6 11l6-6 6 6',
  'M12 5v14M6 13l6 6 6-6',
  'M5 12h14M13 6l6 6-6 6',
  'M19 12H5M11 6l-6 6 6 6',
];
const HINTS = ['space', '↑', '↓', '→', '←'];

export function keys(move, signal) {
  document.addEventListener('keydown', (event) => {
    const direction = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (direction === undefined || elsewhere(event)) return;
    event.preventDefault();
    move(direction, event.repeat);
  }, { signal });
}

/** Return the pad: a cross of buttons, large enough for thumbs. */
export function pad(move) {
  const one = (direction) => button(DIRECTIONS[direction], icon(ARROWS[direction]), () => move(direction, false), {
    key: HINTS[direction],
    class: `way way-${direction}`,
  });
  return el('div', { class: 'pad', role: 'group', 'aria-label': 'Steer' }, [1, 4, 0, 3, 2].map(one));
}

/** Steer by swipes over the board, and by taps or clicks. The hero moves towards the tapped square. A tap on the
 *  hero means Stay. */
export function touches(board, game, move, signal) {
  const { host } = board;
  let start = null;
  const steer = (dx, dy) => move(Math.abs(dx) > Math.abs(dy) ? (dx > 0 ? 3 : 4) : dy > 0 ? 2 : 1, false);
  host.classList.add('steered');
  host.addEventListener('pointerdown', (event) => {
    start = event.isPrimary && event.button === 0 ? event : null;
  }, { signal });
  host.addEventListener('pointercancel', () => { start = null; }, { signal });
  host.addEventListener('pointerup', (event) => {
    if (!start || start.pointerId !== event.pointerId) return;
    const dx = event.clientX - start.clientX,
      dy = event.clientY - start.clientY;
    start = null;
    if (Math.hypot(dx, dy) >= SWIPE) {
      steer(dx, dy);
      return;
    }
    const tapped = board.squareAt(event.clientX, event.clientY),
      own = game.value(game.last, game.me, SQUARE);
    if (tapped === null || own < 0) return;
    if (tapped === own) move(0, false);
    else steer((tapped % game.size) - (own % game.size), Math.floor(tapped / game.size) - Math.floor(own / game.size));
  }, { signal });
}
