// The keys, what they do, and the window that lists them.

import { button, el } from 'viewer/dom.js';
import { OVERLAYS } from 'viewer/overlays.js';

/** All keys: how they are written, and what they do. */
export function keyList() {
  return [
    ['Space', 'play, pause'],
    ['← →', 'a ply back, on'],
    ['Shift ← →', 'a round back, on'],
    ['Page ↑ ↓', 'ten rounds back, on'],
    ['Home End', 'to the start, to the end'],
    ['+ −', 'faster, slower (1× to 64×)'],
    ['K', 'next kill (with Shift: previous)'],
    ['D', 'next death'],
    ['M', 'next change of a mine'],
    ['T', 'next turn of ours'],
    ['A 1 … 4', 'jumps and distances: about any hero, about hero 1 … 4'],
    ['L', 'jump to live'],
    ...OVERLAYS.map(({ label, key, tip }) => [key, `${label.toLowerCase()}: ${tip}`]),
    ['N', 'names on the board'],
    ['I', 'dark or light'],
    ['?', 'this list'],
    ['Esc', 'close it'],
  ];
}

/** The window; `open` and `close` it. */
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
    list,
  );
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  return dialog;
}
