// Wide tables of the documents can be scrolled by keys.
addEventListener('load', () => {
  for (const table of document.querySelectorAll('.md-typeset__scrollwrap')) table.tabIndex = 0;
});
