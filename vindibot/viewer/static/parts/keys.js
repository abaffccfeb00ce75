// The keys, and the window that lists the keys.

import { button, el } from '../core/dom.js';
import { KINDS } from './events.js';
import { OVERLAYS } from '../board/overlays.js';
import { store, stored } from '../core/storage.js';

const LETTERS = 'vindibot-letters';

/** Return all keys, each with a description of its effect. */
export function keyList() {
  return [
    ['Space', 'play, pause'],
    ['← →', 'a ply back, forward'],
    ['Shift ← →', 'a round back, forward'],
    ['Page ↑ ↓', 'ten rounds back, forward'],
    ['Home End', 'to the start, to the end'],
    ['+ −', 'faster, slower (1× to 64×)'],
    ...KINDS.map(({ key, label }, i) => [key, `next ${label}${i ? '' : ' (with Shift: previous)'}`]),
    ['↑ ↓', 'the event before or after, in the list of events'],
    ['A 1 … 4', 'events and distances of all heroes, of hero 1 … 4'],
    ['P Q', 'in a review: play what would have happened after the best move, after the played move'],
    ['Y', 'in a review: learn from mistakes; then the arrow keys and . play a move, Enter goes on, Esc goes back'],
    ['L', 'jump to live'],
    ...OVERLAYS.map(({ label, key, tip }) => [key, `${label.toLowerCase()}: ${tip}`]),
    ['N', 'names on the board'],
    ['I', 'dark or light colours'],
    ['?', 'this list'],
    ['Esc', 'close it; back from a line of a review to the game'],
  ];
}

/** Whether letters and digits are keys. People who dictate, or press keys by accident, can switch this off. */
const letters = el('input', {
  type: 'checkbox',
  checked: stored(LETTERS) !== 'off',
  on: { change: () => store(LETTERS, letters.checked ? 'on' : 'off') },
});
export const lettersCount = () => letters.checked;

/** Return the window that lists the keys, a dialog element. */
export function helpWindow() {
  const list = el(
    'dl',
    { class: 'keys' },
    keyList().map(([keys, does]) =>
      el(
        'div',
        {},
        el(
          'dt',
          {},
          keys.split(' ').map((key) => el('kbd', { text: key })),
        ),
        el('dd', { text: does }),
      ),
    ),
  );
  const dialog = el(
    'dialog',
    { class: 'help', 'aria-labelledby': 'help-title' },
    el(
      'div',
      { class: 'panel-head' },
      el('h2', { id: 'help-title', text: 'Keys' }),
      button('Close', '✕', () => dialog.close(), { class: 'plain' }),
    ),
    el('label', {}, letters, ' Letters and digits are keys'),
    list,
  );
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  return dialog;
}
