// How a hero is steered: keys, a pad of buttons, swipes over the board, or a tap beside him. All call `move` with a direction
// 0..4 (Stay, North, South, East, West) and whether it is the repeat of a key that is held down.

import { SQUARE } from 'viewer/model.js';
import { button, el, icon } from 'viewer/dom.js';

export const KEYS = {
  ArrowUp: 1, ArrowDown: 2, ArrowRight: 3, ArrowLeft: 4, ' ': 0, '.': 0,
  w: 1, s: 2, d: 3, a: 4,
};
/** Pixels that a finger moves at least in a swipe. */
const SWIPE = 22;
const ARROWS = ['M12 12h.01', 'M12 19V5M6 11l6-6 6 6', 'M12 5v14M6 13l6 6 6-6', 'M5 12h14M13 6l6 6-6 6', 'M19 12H5M11 6l-6 6 6 6'];
const NAMES = ['Stay', 'North', 'South', 'East', 'West'];
const HINTS = ['space', '↑', '↓', '→', '←'];

/** Whether a key press is for something else on the page: a field, a button that it presses, a shortcut of the browser's. */
function elsewhere(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return true;
  if (event.target.closest?.('input:not([type=checkbox]), select, textarea, dialog')) return true;
  return event.key === ' ' && Boolean(event.target.closest?.('button, a, summary, input'));
}

export function keys(move, signal) {
  document.addEventListener('keydown', (event) => {
    const direction = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (direction === undefined || elsewhere(event)) return;
    event.preventDefault();
    move(direction, event.repeat);
  }, { signal });
}

/** The pad: a cross of buttons, big enough for thumbs. */
export function pad(move) {
  const one = (direction) => button(NAMES[direction], icon(ARROWS[direction]), () => move(direction, false), { key: HINTS[direction], class: `way way-${direction}` });
  return el('div', { class: 'pad', role: 'group', 'aria-label': 'Steer' }, [1, 4, 0, 3, 2].map(one));
}

/** Swipes over the board, and taps (or clicks) towards where he is to go; a tap on himself is Stay. */
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
    const dx = event.clientX - start.clientX, dy = event.clientY - start.clientY;
    start = null;
    if (Math.hypot(dx, dy) >= SWIPE) {
      steer(dx, dy);
      return;
    }
    const tapped = board.squareAt(event.clientX, event.clientY), own = game.value(game.last, game.me, SQUARE);
    if (tapped === null || own < 0) return;
    if (tapped === own) move(0, false);
    else steer((tapped % game.size) - (own % game.size), Math.floor(tapped / game.size) - Math.floor(own / game.size));
  }, { signal });
}
