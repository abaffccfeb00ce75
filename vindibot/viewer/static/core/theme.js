// Dark or light colours. The choice is stored, for all pages of the same server; without a choice, the preference of
// the system counts.
//
// A page that only needs the colours loads this module alone. Each button with the attributes `data-theme-switch` and
// `hidden` of such a page becomes visible and switches the theme.

import { store, stored } from './storage.js';

const KEY = 'vindibot-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');
const watchers = [];
let theme = null;

/** Return the stored choice, null for none. */
function chosen() {
  const choice = stored(KEY);
  return choice === 'dark' || choice === 'light' ? choice : null;
}

function put(next) {
  if (next === theme) return;
  theme = next;
  document.documentElement.dataset.theme = theme;
  for (const changed of watchers) changed(theme);
}

const putCurrent = () => put(chosen() ?? (dark.matches ? 'dark' : 'light'));

/** Switch between dark and light, and store the choice. */
export function switchTheme() {
  const next = theme === 'dark' ? 'light' : 'dark';
  store(KEY, next);
  put(next);
}

/** Call `changed` with the theme, now and after each change. Return the function that switches the theme. */
export function watchTheme(changed) {
  watchers.push(changed);
  changed(theme);
  return switchTheme;
}

/** Call `changed` now and after each change, with true if the user prefers little motion. */
export function watchMotion(changed) {
  const reduced = matchMedia('(prefers-reduced-motion: reduce)');
  reduced.addEventListener('change', () => changed(reduced.matches));
  changed(reduced.matches);
}

putCurrent();
dark.addEventListener('change', putCurrent);
window.addEventListener('storage', (event) => event.key === KEY && putCurrent());
for (const button of document.querySelectorAll('button[data-theme-switch]')) {
  button.removeAttribute('hidden');
  button.addEventListener('click', switchTheme);
}
