// A bot in plain JavaScript: `node bot.js SERVER KEY [GAMES]`. It needs Node.js 18 or later, and no package.
//
// It goes to the nearest mine that it does not own, and drinks beer when its life is low. Change `choose`.

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

/** Send a form, and return the answer. If the server cannot be reached or is busy, try again for some seconds. */
async function post(url, form, seconds) {
  for (const end = Date.now() + 1000 * seconds; ; ) {
    try {
      const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form) });
      if (answer.ok) return await answer.json();
      if (answer.status !== 429 && answer.status < 500) throw new SyntaxError(await answer.text());
    } catch (problem) {
      if (problem instanceof SyntaxError) throw new Error(`the server says: ${problem.message}`);
    }
    if (Date.now() > end) throw new Error(`the server does not answer: ${url}`);
    await new Promise((done) => setTimeout(done, 500));
  }
}

async function play(server, key) {
  let state = await post(`${server}/api/arena`, { key }, 24 * 3600);
  console.log('the game:', state.viewUrl);
  while (!state.game.finished) state = await post(state.playUrl, { dir: choose(state), turn: state.game.turn }, 20);
}

async function main([server, key, games = '1']) {
  if (key === undefined) throw new Error('usage: node bot.js SERVER KEY [GAMES]');
  for (let game = 0; game < Number(games); game += 1) await play(server.replace(/\/$/, ''), key);
}

main(process.argv.slice(2)).catch((problem) => {
  console.error(problem.message);
  process.exit(1);
});
