// Copies of texts to the clipboard.

/** Copy a text. Return whether this was possible. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(text);
  }
}

/** Copy a text with a selection, for pages without access to the clipboard: pages over HTTP from another machine. */
function copySelection(text) {
  const before = document.activeElement,
    area = document.createElement('textarea');
  area.value = text;
  area.className = 'unseen';
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return copied;
}
