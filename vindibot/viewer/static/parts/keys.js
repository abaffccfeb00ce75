// The keys: one table for what they do and for the window that lists them.

import { button, el } from '../core/dom.js';
import { store, stored } from '../core/storage.js';
import { OVERLAYS } from '../board/overlays.js';
import { KINDS, possible } from './events.js';
import { STEPS } from './transport.js';

const LETTERS = 'vindibot-letters';

/** Return the table of the keys of a game's page. Each row has the keys as people read them, the effect in words, and
 *  what the keys do: functions by key, or nothing if another part handles the keys. */
export function keyTable(page) {
  const clock = () => (page.line ?? page).clock,
    reviewed = () => page.game.reviewFor(page.clock.state, page.hero);
  const faster = () => clock().faster(1),
    slower = () => clock().faster(-1);
  const steps = STEPS.map(({ key, act }) =>
    [key.replace('←', 'ArrowLeft').replace('→', 'ArrowRight'), () => act(clock())]);
  const jumps = KINDS.map(({ kind, key, label }, i) => [
    key,
    `next ${label}${i ? '' : ' (with Shift: previous)'}`,
    possible(page.game, kind) && { [key]: () => page.jump(kind, 1), [`Shift ${key}`]: () => page.jump(kind, -1) },
  ]);
  const overlays = OVERLAYS.map(({ id, label, key, tip }) =>
    [key, `${label.toLowerCase()}: ${tip}`, { [key]: () => page.toggle(id) }]);
  const heroes = ['A', '1', '2', '3', '4'].map((key, place) => [key, () => page.table.choose(place - 1)]);
  const inReview = (keys) => page.game.review && keys;
  return [
    ['Space', 'play, pause', { ' ': () => clock().toggle() }],
    ['← →', 'a ply back, forward', Object.fromEntries(steps)],
    ['Shift ← →', 'a round back, forward'],
    ['Page ↑ ↓', 'ten rounds back, forward', { PageUp: () => clock().step(-40), PageDown: () => clock().step(40) }],
    ['Home End', 'to the start, to the end'],
    ['+ −', 'faster, slower (1× to 64×)', { '+': faster, '=': faster, '-': slower, _: slower, '−': slower }],
    ...jumps,
    ['↑ ↓', 'the event before or after, in the list of events'],
    ['A 1 … 4', 'events and distances of all heroes, of hero 1 … 4', Object.fromEntries(heroes)],
    ['P Q', 'in a review: play what would have happened after the best move, after the played move',
      inReview({ P: () => page.explore(reviewed(), 'best'), Q: () => page.explore(reviewed(), 'played') })],
    ['Y', 'in a review: learn from mistakes; then the arrow keys and . play a move, Enter goes on, Esc goes back',
      inReview({ Y: () => page.learn() })],
    ['L', 'jump to live', { L: () => page.live && page.inGame(() => page.clock.follow()) }],
    ...overlays,
    ['N', 'names on the board', { N: () => page.toggle('names') }],
    ['I', 'dark or light colours', { I: () => page.switchTheme() }],
    ['?', 'this list', { '?': () => page.help.showModal() }],
    ['Esc', 'close it; back from a line of a review to the game', inReview({ Escape: () => page.leave() })],
  ];
}

/** Whether letters and digits are keys. People who dictate, or press keys by accident, can switch this off. */
const letters = el('input', {
  type: 'checkbox',
  checked: stored(LETTERS) !== 'off',
  on: { change: () => store(LETTERS, letters.checked ? 'on' : 'off') },
});
export const lettersCount = () => letters.checked;

/** Return the window that lists the keys of a table, a dialog element. */
export function helpWindow(table) {
  const list = el(
    'dl',
    { class: 'keys' },
    table.map(([keys, does]) =>
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
