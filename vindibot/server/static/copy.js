// The buttons that copy the text beside them.
const SHOWN_MS = 1500;

/** Copy the text of an element, which is selected. Browsers offer their clipboard only to pages from this machine or over https;
 *  for others there is the old command. Return whether it worked. */
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
