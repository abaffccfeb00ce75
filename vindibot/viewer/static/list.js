// A list of moments of the game. The user goes to a moment with the mouse, or with the keys ↑ and ↓ in the list.

import { el, set } from 'viewer/dom.js';

export class JumpList {
  /** `id` begins the ids of the rows. `go` is called with the state of the row that the user selects. */
  constructor(id, label, go) {
    this.id = id;
    this.go = go;
    this.states = [];
    this.at = -1; // the selected row
    this.element = el('ol', {
      class: `list list-${id}`,
      role: 'listbox',
      tabindex: 0,
      'aria-label': label,
      on: { keydown: (event) => this._key(event), click: (event) => this._click(event) },
    });
  }

  /** Show these rows { state, parts }, and select none. `parts` are the elements of a row. */
  fill(rows) {
    this.at = -1;
    this.states = rows.map(({ state }) => state);
    this.element.replaceChildren(
      ...rows.map(({ state, parts }, index) =>
        el(
          'li',
          { role: 'option', id: `${this.id}-${index}`, 'data-index': index, 'data-state': state, 'aria-selected': 'false' },
          parts,
        ),
      ),
    );
    set(this.element, { 'aria-activedescendant': null });
    this.element.hidden = !rows.length;
  }

  /** Select a row, none for -1, and scroll it into view. */
  select(at) {
    if (at === this.at) return;
    const { element } = this,
      { children } = element;
    if (this.at >= 0) set(children[this.at], { 'aria-selected': 'false' });
    this.at = at;
    set(element, { 'aria-activedescendant': at >= 0 ? `${this.id}-${at}` : null });
    if (at < 0) return;
    const row = children[at],
      top = row.offsetTop - element.offsetTop;
    set(row, { 'aria-selected': 'true' });
    // `scrollIntoView` would scroll the page too
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + row.offsetHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + row.offsetHeight - element.clientHeight;
  }

  _choose(index) {
    if (this.states[index] === undefined) return;
    this.select(index);
    this.go(this.states[index]);
  }

  _click(event) {
    const row = event.target.closest('[data-index]');
    if (row) this._choose(Number(row.dataset.index));
  }

  _key(event) {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    this._choose(Math.max(0, Math.min(this.states.length - 1, this.at + way)));
  }
}
