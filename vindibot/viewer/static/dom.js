// Elements by hand. Texts become text nodes: nothing that comes from elsewhere is ever parsed as markup.

/** An element with attributes and children (elements or texts; null and false are left out). `class`, `text` and `on` (a
 *  table of listeners) are special, booleans set or leave out an attribute. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  set(made, attributes);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'text') element.textContent = value;
    else if (name === 'on') for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (value === false || value === null || value === undefined) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? '' : value);
  }
}

/** A name or another text of somebody else's, set apart from the direction in which the rest is written. */
export function foreign(text, attributes = {}) {
  return el('bdi', { ...attributes, text });
}

const SVG = 'http://www.w3.org/2000/svg';

/** A picture of 24 x 24 from the paths of its strokes and of what is filled. */
export function icon(strokes, filled = '') {
  const made = document.createElementNS(SVG, 'svg');
  made.setAttribute('viewBox', '0 0 24 24');
  made.setAttribute('aria-hidden', 'true');
  made.setAttribute('class', 'icon');
  for (const [data, fill] of [
    [strokes, 'none'],
    [filled, 'currentColor'],
  ]) {
    if (!data) continue;
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', data);
    path.setAttribute('fill', fill);
    if (fill === 'none') path.setAttribute('stroke', 'currentColor');
    made.append(path);
  }
  return made;
}

/** A button; `label` is what it is called, and its tip together with the key that does the same. */
export function button(label, content, press, { key = '', ...attributes } = {}) {
  const title = key ? `${label} (${key})` : label;
  return el('button', { type: 'button', 'aria-label': label, title, on: { click: press }, ...attributes }, content);
}
