// A bot in plain JavaScript: `node bot.js SERVER KEY [GAMES]`. It needs Node.js 18 or later, and no package.
//
// It goes to the nearest mine that it does not own, and drinks beer when its life is low. Change `choose`.
// It plays game after game, for a whole league, until Ctrl-C ends it. With GAMES, it plays only so many games.

'use strict';

const STEPS = { North: [-1, 0], South: [1, 0], East: [0, 1], West: [0, -1] };
/** Below this life, the bot goes to a tavern. */
const THIRSTY = 50;

/** Return our move: Stay, North, South, East or West. The arguments are parts of the server's answer. */
function choose({ hero, game: { board } }) {
  if (hero.life < THIRSTY && hero.gold >= 2) return firstStep(board, hero, (tile) => tile === '[]');
  return firstStep(board, hero, (tile) => tile[0] === '$' && tile[1] !== String(hero.id));
}

/** Return the first move of a shortest way to a tile for which `isGoal` is true, or Stay if there is no way. */
function firstStep({ size, tiles }, hero, isGoal) {
  const waiting = [[hero.pos.x, hero.pos.y, 'Stay']]; // x is the row, y the column
  const seen = new Set([hero.pos.x * size + hero.pos.y]);
  for (const [row, column, first] of waiting) {
    for (const [move, [down, right]] of Object.entries(STEPS)) {
      const there = [row + down, column + right], place = there[0] * size + there[1];
      if (Math.min(...there) < 0 || Math.max(...there) >= size || seen.has(place)) continue;
      seen.add(place);
      const tile = tiles.slice(2 * place, 2 * place + 2), step = first === 'Stay' ? move : first;
      if (isGoal(tile)) return step;
      if (tile === '  ') waiting.push([...there, step]);
    }
  }
  return 'Stay';
}

/** The server refuses a request. The message is its answer. */
class RefusedError extends Error {}

/** Send a form, and return the answer. If the server cannot be reached or is busy, say so, and try again for some seconds. */
async function post(url, form, seconds = Infinity) {
  let printed = -Infinity;
  for (const start = Date.now(); ; await new Promise((done) => setTimeout(done, 500))) {
    let problem;
    try {
      const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form) });
      if (answer.ok) return await answer.json();
      problem = (await answer.text()) || `status ${answer.status}`;
      if (answer.status !== 429 && answer.status < 500) throw new RefusedError(problem);
    } catch (error) {
      if (error instanceof RefusedError) throw error;
      problem = error.cause?.message || error.cause?.code || error.message;
      if (error.cause?.code === 'UND_ERR_HEADERS_TIMEOUT') continue; // the game has not begun within 5 minutes: ask again
    }
    if (Date.now() > start + 1000 * seconds) throw new RefusedError(`no answer: ${problem}`);
    if (Date.now() >= printed + 30_000) {
      console.log(`${url.split('/api/')[0]} does not answer: ${problem}. Trying again.`);
      printed = Date.now();
    }
  }
}

/** Play one game. If the server ends the game for us, for example because it has started anew, return as well. */
async function play(server, key) {
  let state;
  try {
    state = await post(`${server}/api/arena`, { key });
  } catch (problem) {
    throw new Error(`the server says: ${problem.message}${problem.message.includes('Key not found') ? ': check your slip' : ''}`);
  }
  console.log('the game:', state.viewUrl);
  try {
    while (!state.game.finished) state = await post(state.playUrl, { dir: choose(state), turn: state.game.turn }, 20);
  } catch (problem) {
    if (!(problem instanceof RefusedError)) throw problem;
    console.log(`this game is over for us: ${problem.message}`);
  }
}

/** Play on a server, whose address may lack `http://`. */
async function main([server, key, games = Infinity]) {
  if (key === undefined) throw new Error('usage: node bot.js SERVER KEY [GAMES]');
  if (!server.includes('://')) server = `http://${server}`;
  console.log(`asking ${server} for a game`);
  for (let game = 0; game < Number(games); game += 1) await play(server.replace(/\/$/, ''), key);
}

main(process.argv.slice(2)).catch((problem) => {
  console.error(problem.message);
  process.exit(1);
});
