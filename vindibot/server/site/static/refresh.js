// Refreshes parts of a page: the elements with an attribute `data-refresh`. Every `data-seconds` seconds, while the page is
// visible, this script loads the page at the address in `data-refresh`. Then it makes the old element equal to the element with
// the same id in the new page. There is one request at a time per part.

/** Make the element `old` equal to `fresh`. Existing elements are changed, not replaced, so that they keep the focus. Children
 *  with an id are matched by their id, other children by their position. */
function update(old, fresh) {
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const before = [...old.childNodes];
  const named = new Map(before.filter((node) => node.id).map((node) => [node.id, node]));
  const nodes = [...fresh.childNodes].map((node, place) => {
    const match = node.id ? named.get(node.id) : before[place];
    if (!match || match.nodeName !== node.nodeName || (match.id ?? '') !== (node.id ?? '')) return document.importNode(node, true);
    if (match.nodeType === Node.ELEMENT_NODE) update(match, node);
    else if (match.nodeValue !== node.nodeValue) match.nodeValue = node.nodeValue;
    return match;
  });
  const stay = new Set(nodes);
  for (const node of before) if (!stay.has(node)) node.remove();
  nodes.forEach((node, place) => {
    if (old.childNodes[place] !== node) old.insertBefore(node, old.childNodes[place] ?? null);
  });
}

async function refresh(part) {
  if (document.hidden) return;
  try {
    const answer = await fetch(part.dataset.refresh, { signal: AbortSignal.timeout(10000) });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById(part.id);
    if (fresh) update(part, fresh);
    else location.reload(); // the address shows another page now: a game is on air
  } catch {
    // No answer came. Try again later.
  }
}

async function keepFresh(part) {
  while (part.dataset.refresh) {
    await new Promise((done) => setTimeout(done, 1000 * part.dataset.seconds));
    await refresh(part);
  }
}

for (const part of document.querySelectorAll('[data-refresh]')) keepFresh(part);
