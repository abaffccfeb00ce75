// Texts that the browser stores for the pages of one server. A browser may refuse to store them, and a page from a file
// has no store.

/** Return a stored text, null for none. `area` is 'localStorage', or 'sessionStorage' for this tab only. */
export function stored(key, area = 'localStorage') {
  try {
    return window[area].getItem(key);
  } catch {
    return null;
  }
}

/** Store a text. Return whether this was possible. */
export function store(key, text, area = 'localStorage') {
  try {
    window[area].setItem(key, text);
    return true;
  } catch {
    return false;
  }
}
