// While the page is visible, this script loads the page again every few seconds, and takes the list of running games from it.
const INTERVAL_MS = 2500;

async function refresh() {
  if (document.hidden) return;
  const list = document.getElementById('running');
  if (list.contains(document.activeElement)) return; // the user is about to choose a game
  try {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('running');
    if (fresh) list.replaceChildren(...fresh.childNodes);
  } catch {
    // No connection now; try again later.
  }
}

if (document.getElementById('running')) setInterval(refresh, INTERVAL_MS);
