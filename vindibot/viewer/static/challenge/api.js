// The page's requests to its host. A failed request throws an `Error` whose message can be shown to the person.

/** Milliseconds between two attempts to send a move, and from the first attempt to the last. */
const RETRY_MS = 700,
  TIMEOUT_MS = 60_000;

const LOST = 'The server does not answer. Has the command ended?';

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function request(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error(LOST);
  }
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  const text = await answer.text();
  const message = text.startsWith('{') ? JSON.parse(text).error : text;
  throw Object.assign(new Error(message || `status ${answer.status}`), { status: answer.status });
}

export const offers = () => request('/challenge/offers');

export const mapOf = (id, seed, size) => request(
  `/challenge/maps/${encodeURIComponent(id)}?${new URLSearchParams({ seed, ...(size ? { size } : {}) })}`);

/** Begin the game of a person who plays alone; return the token of its link. */
export const begin = (choice) => request('/challenge/games', { method: 'POST',
  headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(choice) });

// ---- The game of a link ----

/** The id of this page: another page with the same link has another one. */
const PAGE = Math.random().toString(36).slice(2);

/** Return a request below /challenge/game with the token of a link, "" for a spectator. `body` is sent as JSON. */
function ofGame(token, method, path, body, more) {
  const bearer = token ? { Authorization: `Bearer ${token}` } : {},
    kind = body ? { 'Content-Type': 'application/json' } : {};
  const headers = { 'Page-Id': PAGE, ...bearer, ...kind };
  return request(`/challenge/game${path}`, { method, headers, body: body && JSON.stringify(body), ...more });
}

/** Return the state. */
export const state = (token) => ofGame(token, 'GET', '');

/** Return the links of the people, for the organiser. */
export const links = (token) => ofGame(token, 'GET', '/links');

export const come = (token, name) => ofGame(token, 'POST', '/name', { name });

/** Tell the host that our page is being closed. */
export const closed = (token) => ofGame(token, 'POST', '/closed', undefined, { keepalive: true }).catch(() => null);

export const start = (token) => ofGame(token, 'POST', '/start');

/** Return the bundle of the newest game, without plies. */
export const newestGame = (token) => ofGame(token, 'GET', '/bundle');

export const endGame = (token) => ofGame(token, 'DELETE', '');

/** Return the votes after the first `after`. If there are none yet, wait for them. */
export const votes = (token, after, signal) => ofGame(token, 'GET', `/votes?after=${after}`, undefined, { signal });

/** Send the move of a turn until it is answered: a second move for the same turn has no effect. `lost` is called with
 *  true when the connection is lost, and with false when it is back. */
export async function move(token, dir, turn, lost) {
  const until = performance.now() + TIMEOUT_MS;
  for (;;) {
    try {
      await ofGame(token, 'POST', '/move', { dir, turn });
      lost(false);
      return;
    } catch (problem) {
      if (problem.status || performance.now() > until) throw problem;
      lost(true);
      await pause(RETRY_MS);
    }
  }
}
