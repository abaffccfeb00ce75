// The list of running games keeps up by itself: every few seconds, while somebody looks, it is taken anew from this page.
const EVERY = 2500;

async function renew() {
  if (document.hidden) return;
  const list = document.getElementById('running');
  if (list.contains(document.activeElement)) return; // somebody is about to choose a game
  try {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('running');
    if (fresh) list.replaceChildren(...fresh.childNodes);
  } catch {
    // The server is away; perhaps it comes back.
  }
}

if (document.getElementById('running')) setInterval(renew, EVERY);
