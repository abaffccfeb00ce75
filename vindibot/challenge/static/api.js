// The page's requests: to its host, and to the game server, as any client sends them. A failed request throws an
// `Error` whose message can be shown to the person.

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
  let message = text;
  try {
    message = JSON.parse(text).error ?? text;
  } catch {
    // the game server answers with plain text
  }
  throw Object.assign(new Error(message || `status ${answer.status}`), { status: answer.status });
}

export const offers = () => request('/challenge/offers');

export const mapOf = (id, seed, size) => request(
  `/challenge/maps/${encodeURIComponent(id)}?${new URLSearchParams({ seed, ...(size ? { size } : {}) })}`);

export const begin = (wanted) => request('/challenge/games', { method: 'POST',
  headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(wanted) });

const bearer = (secret) => ({ Authorization: `Bearer ${secret}` });

/** Return the votes after the first `after`. If there are none yet, wait for them. */
export const votes = (secret, after, signal) => request(
  `/challenge/game/votes?after=${after}`, { headers: bearer(secret), signal });

/** Leave the game. The request is sent even if the page is being closed. */
export const leave = (secret) => request('/challenge/game', { method: 'DELETE', headers: bearer(secret),
  keepalive: true }).catch(() => null);

// ---- The game server ----

/** Take the seat that is reserved for this key; return the state of our first turn. */
export const join = (key) => request('/api/arena', { method: 'POST', body: new URLSearchParams({ key }) });

/** Send a request until it is answered. `lost` is called with true when the connection is lost, and with false when
 *  it is back. */
async function repeated(send, lost) {
  const until = performance.now() + TIMEOUT_MS;
  for (;;) {
    try {
      const answer = await send();
      lost(false);
      return answer;
    } catch (problem) {
      if (problem.status || performance.now() > until) throw problem;
      lost(true);
      await pause(RETRY_MS);
    }
  }
}

/** Send the move of a turn to the path of our moves. The answer comes at our next turn. If the answer is lost, send
 *  the move again. The server sees by the number of the turn that it is the same move. See `repeated` for `lost`. */
export const sendMove = (path, dir, turn, lost) => repeated(() => request(path, { method: 'POST',
  body: new URLSearchParams({ dir, turn }) }), lost);

// ---- Several people ----

/** The id of this page: another page with the same link has another one. */
const PAGE = Math.random().toString(36).slice(2);

/** Return a request below /challenge/people with the token of a link, "" for a spectator. `body` is sent as JSON. */
function ofPeople(token, method, path, body, more) {
  const kind = body ? { 'Content-Type': 'application/json' } : {};
  const headers = { 'Page-Id': PAGE, ...(token ? bearer(token) : {}), ...kind };
  return request(`/challenge/people${path}`, { method, headers, body: body && JSON.stringify(body), ...more });
}

/** Return the state. */
export const people = (token) => ofPeople(token, 'GET', '');

/** Return the links of the people, for the organiser. */
export const links = (token) => ofPeople(token, 'GET', '/links');

export const come = (token, name) => ofPeople(token, 'POST', '/name', { name });

/** Tell the host that our page is being closed. */
export const closed = (token) => ofPeople(token, 'POST', '/closed', undefined, { keepalive: true }).catch(() => null);

export const start = (token) => ofPeople(token, 'POST', '/start');

/** Return the bundle of the newest game, without plies. */
export const newestGame = (token) => ofPeople(token, 'GET', '/game');

export const endGame = (token) => ofPeople(token, 'DELETE', '/game');

/** Send the move of a turn. A second move for the same turn has no effect. See `repeated` for `lost`. */
export const move = (token, dir, turn, lost) => repeated(() => ofPeople(token, 'POST', '/move', { dir, turn }), lost);
