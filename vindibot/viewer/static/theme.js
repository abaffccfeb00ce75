// Dark or light colours. The choice made on this page is stored; without a choice, the preference of the system counts.

const KEY = 'vindibot-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');

/** Return the stored choice. A page from a file may have no storage. */
function chosen() {
  try {
    const theme = localStorage.getItem(KEY);
    return theme === 'dark' || theme === 'light' ? theme : null;
  } catch {
    return null;
  }
}

function remember(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // a browser may refuse to store it
  }
}

/** Set the theme of the page and call `changed` with the theme, now and after each change. Return a function that switches the
 *  theme. */
export function watchTheme(changed) {
  let theme = chosen() ?? (dark.matches ? 'dark' : 'light');
  const put = () => {
    document.documentElement.dataset.theme = theme;
    changed(theme);
  };
  dark.addEventListener('change', () => {
    if (chosen()) return;
    theme = dark.matches ? 'dark' : 'light';
    put();
  });
  put();
  return () => {
    theme = theme === 'dark' ? 'light' : 'dark';
    remember(theme);
    put();
  };
}

/** Call `changed` now and after each change, with true if the user prefers little motion. */
export function watchMotion(changed) {
  const reduced = matchMedia('(prefers-reduced-motion: reduce)');
  reduced.addEventListener('change', () => changed(reduced.matches));
  changed(reduced.matches);
}
