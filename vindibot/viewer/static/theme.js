// Dark or light: what the system prefers, or what was chosen on this page and is remembered.

const KEY = 'vindibot-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');

/** The choice of before; a page from a file may have no memory. */
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
    // then it is forgotten
  }
}

/** Set the page's theme and call `changed` with it, now and whenever it changes. Returns a function that switches it. */
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

/** Call `changed` with whether little motion is preferred, now and whenever that changes. */
export function watchMotion(changed) {
  const reduced = matchMedia('(prefers-reduced-motion: reduce)');
  reduced.addEventListener('change', () => changed(reduced.matches));
  changed(reduced.matches);
}
