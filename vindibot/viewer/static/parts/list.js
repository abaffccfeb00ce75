// A list of moments of the game. The user goes to a moment with the mouse, or with the keys ↑ and ↓ in the list.

import { el, set } from '../core/dom.js';

export class JumpList {
  /** `id` begins the ids of the rows. `go` is called with the state of the row that the user selects. */
  constructor(id, label, go) {
    this.id = id;
    this.go = go;
    this.row = null; // the selected row
    this.element = el('ol', {
      class: `list list-${id}`,
      role: 'listbox',
      tabindex: 0,
      'aria-label': label,
      on: { keydown: (event) => this._key(event), click: ({ target }) => this._choose(target.closest('li')) },
    });
  }

  /** The number of the selected row, -1 for none. */
  get at() {
    return [...this.element.children].indexOf(this.row);
  }

  /** Show these rows { key, state, parts }. A row whose key is there already stays, so that the list keeps its
   *  place. `parts` is a function that returns the elements of a row. */
  fill(rows) {
    const { element, id } = this,
      old = new Map([...element.children].map((row) => [row.id, row]));
    const made = ({ key, state, parts }) =>
      el('li', { role: 'option', id: `${id}-${key}`, 'data-state': state, 'aria-selected': 'false' }, parts());
    rows.forEach((row, place) => {
      const item = old.get(`${id}-${row.key}`) ?? made(row);
      old.delete(item.id);
      if (element.children[place] !== item) element.insertBefore(item, element.children[place] ?? null);
    });
    for (const row of old.values()) row.remove();
    if (this.at < 0) this.select(-1);
    element.hidden = !rows.length;
  }

  /** Select a row, none for -1, and scroll it into view. If `quiet`, do not scroll a list that the user has
   *  scrolled. */
  select(at, quiet = false) {
    const { element, row: old } = this,
      row = element.children[at] ?? null;
    if (row === old) return;
    const away = quiet && old && !this._visible(old);
    if (old) set(old, { 'aria-selected': 'false' });
    this.row = row;
    set(element, { 'aria-activedescendant': row?.id });
    if (!row) return;
    set(row, { 'aria-selected': 'true' });
    if (away || this._visible(row)) return;
    // `scrollIntoView` would scroll the page too
    const top = row.offsetTop - element.offsetTop;
    element.scrollTop = top < element.scrollTop ? top : top + row.offsetHeight - element.clientHeight;
  }

  _visible(row) {
    const { element } = this,
      top = row.offsetTop - element.offsetTop - element.scrollTop;
    return top >= 0 && top + row.offsetHeight <= element.clientHeight;
  }

  _choose(row) {
    if (!row) return;
    this.select([...this.element.children].indexOf(row));
    this.go(Number(row.dataset.state));
  }

  _key(event) {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const { children } = this.element;
    this._choose(children[Math.max(0, Math.min(children.length - 1, this.at + way))]);
  }
}
