// The buttons that copy the text beside them.
const SHOWN_MS = 1500;

/** Select the text of an element and copy it. Return whether this worked. Browsers let a page use their clipboard only if the
 *  page comes from this machine or over https. On other pages, the old command `copy` copies the selection. */
async function copy(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch {
    return document.execCommand('copy');
  }
}

document.addEventListener('click', async (event) => {
  const button = event.target.closest('button.copy');
  if (!button) return;
  const text = button.parentElement.querySelector('pre');
  button.textContent = (await copy(text)) ? 'Copied' : 'Press Ctrl-C';
  setTimeout(() => (button.textContent = 'Copy'), SHOWN_MS);
});
