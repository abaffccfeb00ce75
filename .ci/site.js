// Wide tables of the documents can be scrolled by keys.
addEventListener('load', () => {
  for (const table of document.querySelectorAll('.md-typeset__scrollwrap')) table.tabIndex = 0;
});

// A copy button of a block with commands copies the commands, without `$` and without their output.
addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-clipboard-target]');
  const code = button && document.querySelector(button.dataset.clipboardTarget);
  if (!code?.textContent.startsWith('$ ')) return;
  const commands = code.textContent.split('\n').filter((line) => line.startsWith('$ ')).map((line) => line.slice(2));
  button.dataset.clipboardText = commands.join('\n');
}, true);
