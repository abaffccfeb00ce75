// Functions that make elements. Texts become text nodes: no text is ever parsed as markup.

const SVG = 'http://www.w3.org/2000/svg';

function filled(made, attributes, children) {
  set(made, attributes);
  made.append(...children.flat().filter((child) => child || child === 0));
  return made;
}

/** Return an element with attributes and children (elements or texts; null and false are left out). The attribute
 *  `text` is the text of the element, `on` a table of listeners. The value true sets an attribute without a value,
 *  false removes the attribute. */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Return an element of a drawing (SVG), as `el` does. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'text') element.textContent = value;
    else if (name === 'on')
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (value === false || value === null || value === undefined) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? '' : value);
  }
}

/** Return an element for a name or another foreign text. The writing direction of this text does not affect the rest
 *  of the page. */
export function foreign(text, attributes = {}) {
  return el('bdi', { ...attributes, text });
}

/** Return an icon of 24 x 24 units, made from a path of strokes and a filled path. */
export function icon(strokes, area = '') {
  return svg('svg', { viewBox: '0 0 24 24', 'aria-hidden': 'true', class: 'icon' },
    strokes && svg('path', { d: strokes, fill: 'none', stroke: 'currentColor' }),
    area && svg('path', { d: area, fill: 'currentColor' }));
}

/** Return a button. `label` is its name. The tooltip has the label, and `key`, the key with the same effect.
 *  @param {string} label
 *  @param {any} content
 *  @param {() => void} press
 *  @param {{ key?: string, [attribute: string]: any }} attributes */
export function button(label, content, press, { key = '', ...attributes } = {}) {
  const title = key ? `${label} (${key})` : label;
  return el('button', { type: 'button', 'aria-label': label, title, on: { click: press }, ...attributes }, content);
}

/** Return a button with a text. */
export function textButton(text, press, attributes = {}) {
  return el('button', { type: 'button', on: { click: press }, text, ...attributes });
}

/** Return whether a key press is for another part of the page: a field, a button that the key presses, a shortcut of
 *  the browser. */
export function elsewhere({ key, target, ctrlKey, metaKey, altKey }) {
  if (ctrlKey || metaKey || altKey) return true;
  if (target.closest?.('select, textarea, dialog[open], input:not([type=range], [type=checkbox])')) return true;
  return (key === ' ' || key === 'Enter') && Boolean(target.closest?.('button, a, summary, input[type=checkbox]'));
}
