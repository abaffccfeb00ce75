// What the page asks of its host, and of the game server like any other client. Whatever goes wrong is an `Error` whose message
// can be shown.

/** How often an order is repeated when its answer is lost, and how long in all, in milliseconds. */
const AGAIN = 700, PATIENCE = 60_000;

const LOST = 'The server does not answer. Has the command ended?';

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error(LOST);
  }
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  const text = await answer.text();
  let told = text;
  try {
    told = JSON.parse(text).error ?? text;
  } catch {
    // plain text, as the game server answers
  }
  throw Object.assign(new Error(told || `status ${answer.status}`), { status: answer.status });
}

export const offers = () => ask('/challenge/offers');

export const mapOf = (id, seed, size) => ask(`/challenge/maps/${encodeURIComponent(id)}?${new URLSearchParams({ seed, ...(size ? { size } : {}) })}`);

export const begin = (order) => ask('/challenge/games', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(order) });

const bearer = (secret) => ({ Authorization: `Bearer ${secret}` });

/** Votes after the first `after`, as soon as there are any. */
export const votes = (secret, after, signal) => ask(`/challenge/game/votes?after=${after}`, { headers: bearer(secret), signal });

/** Go; also while the page is being closed. */
export const leave = (secret) => ask('/challenge/game', { method: 'DELETE', headers: bearer(secret), keepalive: true }).catch(() => null);

/** Take the seat that is reserved for this key: the state of our first turn. */
export const join = (key) => ask('/api/arena', { method: 'POST', body: new URLSearchParams({ key }) });

/** Give the order of a turn: the state of our next one, or the last. An answer that is lost is asked for again: the server
 *  knows by the turn that it is no new order. */
export async function order(playUrl, dir, turn, lost) {
  const path = new URL(playUrl, location.href).pathname, until = performance.now() + PATIENCE;
  for (;;) {
    try {
      const answer = await ask(path, { method: 'POST', body: new URLSearchParams({ dir, turn }) });
      lost(false);
      return answer;
    } catch (problem) {
      if (problem.status || performance.now() > until) throw problem;
      lost(true);
      await pause(AGAIN);
    }
  }
}
