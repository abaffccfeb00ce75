// Refreshes parts of a page: the elements with an attribute `data-refresh`. Every `data-seconds` seconds, while the
// page is visible, this script loads the page at the address in `data-refresh`. Then it makes the old element equal to
// the element with the same id in the new page. There is one request at a time per part. If a part cannot be refreshed,
// the page says how old it is.

import { showTimes } from '../core/times.js';

/** Seconds after which a part is old. */
const OLD_S = 10;

const note = document.createElement('p');
note.className = 'stale';
note.role = 'status';
document.body.append(note);
const problems = new Map(); // by part

/** Return the key of an element: an id or an attribute `data-key`. An element with a key is never made into another
 *  element. A form or a row with buttons needs a key, so that a person who aims at it does not send another form. */
const keyOf = (node) => node.id || node.dataset?.key || '';

/** Make the element `old` equal to `fresh`. Existing elements are changed, not replaced, so that they keep the
 *  focus. Children with a key are matched by their key, other children by their place: after the child before, or in
 *  their parent. */
function update(old, fresh) {
  if (old.keeps) return;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const before = [...old.childNodes], nodes = new Set();
  let next = old.firstChild;
  for (const [place, node] of [...fresh.childNodes].entries()) {
    const places = keyOf(node) ? before : [next, before[place]];
    const fits = (one) => one?.nodeName === node.nodeName && keyOf(one) === keyOf(node) && !nodes.has(one);
    const match = places.find(fits) ?? document.importNode(node, true);
    if (match.parentNode === old) next = match.nextSibling;
    nodes.add(match);
    if (match.nodeType === Node.ELEMENT_NODE) update(match, node);
    else if (match.nodeValue !== node.nodeValue) match.nodeValue = node.nodeValue;
  }
  for (const node of before) if (!nodes.has(node)) node.remove();
  [...nodes].forEach((node, place) => {
    if (old.childNodes[place] !== node) old.insertBefore(node, old.childNodes[place] ?? null);
  });
}

/** Refresh a part. Return why this was not possible, '' if it was. */
async function refresh(part) {
  const answer = await fetch(part.dataset.refresh, { signal: AbortSignal.timeout(1000 * OLD_S) }).catch(() => null);
  const text = await answer?.text().catch(() => null);
  if (typeof text !== 'string') return 'The server does not answer';
  if (answer.status === 404) return 'The server does not know this page any more';
  if (!answer.ok) return `The server answers with error ${answer.status}`;
  const fresh = new DOMParser().parseFromString(text, 'text/html').getElementById(part.id);
  if (fresh) {
    showTimes(fresh);
    update(part, fresh);
  } else location.reload(); // the address shows another page now: a game is on air
  return '';
}

async function keepFresh(part) {
  for (let last = Date.now(); part.dataset.refresh; ) {
    await new Promise((done) => setTimeout(done, 1000 * part.dataset.seconds));
    if (document.hidden) continue;
    const problem = await refresh(part);
    if (!problem) last = Date.now();
    const old = problem && Date.now() - last > 1000 * OLD_S;
    problems.set(part, old && `${problem}. This is the state of ${new Date(last).toLocaleTimeString()}.`);
    const words = [...problems.values()].find(Boolean) || '';
    if (note.textContent !== words) note.textContent = words;
  }
}

for (const part of document.querySelectorAll('[data-refresh]')) keepFresh(part);
