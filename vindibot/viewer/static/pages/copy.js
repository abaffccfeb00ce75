// The buttons that copy the text beside them.
import { copyText } from '../core/clipboard.js';

const SHOWN_MS = 1500;

document.addEventListener('click', async (event) => {
  const button = event.target instanceof Element && event.target.closest('button.copy');
  if (!button) return;
  const text = button.parentElement.querySelector('pre').textContent;
  button.keeps = true; // so that a refresh of the page does not change the button (refresh.js)
  button.textContent = (await copyText(text)) ? 'Copied' : 'Copy it yourself';
  await new Promise((done) => setTimeout(done, SHOWN_MS));
  button.textContent = 'Copy';
  button.keeps = false;
});
