// Plays over HTTP: `node http.js SERVER KEY`. Here x is the row and y the column.

'use strict';

const { choose } = require('./brain.js');

/** Milliseconds for which a request is repeated: a request for a game, and a move. */
const JOIN_MS = 60_000, MOVE_MS = 30_000;
/** The first and the longest pause between two attempts, in milliseconds. */
const FIRST_PAUSE = 50, LONGEST_PAUSE = 5000;

/** The server's answer is an error. If `temporary` is true, a later attempt may succeed. */
class Refusal extends Error {
  constructor(status, text) {
    super(`${status}: ${text}`);
    this.temporary = status === 429 || status >= 500;
  }
}

async function postOnce(url, form) {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form) });
  if (!answer.ok) throw new Refusal(answer.status, await answer.text());
  return answer.json();
}

/**
 * Send a form and return the answer. If there is no answer, or if the server is overloaded, try again for `ms` milliseconds.
 *
 * A move has its turn, so the server plays it once even if it arrives twice.
 */
async function post(url, form, ms) {
  const end = Date.now() + ms;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      return await postOnce(url, form);
    } catch (problem) {
      const lasting = problem instanceof Refusal && !problem.temporary;
      if (lasting || Date.now() + pause > end) throw problem;
      if (pause === FIRST_PAUSE) console.error(`${textOf(problem)}; trying again`);
    }
    await new Promise((done) => setTimeout(done, pause));
  }
}

function textOf(problem) {
  return problem.cause ? `${problem.message}: ${problem.cause.message}` : problem.message;
}

/** Return the state of the game for the brain. On the board a tile has two characters, and a hero hides an empty square. */
function stateOf({ game, hero }) {
  const { size, tiles: text } = game.board;
  const tiles = [], mines = [];
  for (let row = 0; row < size; row += 1) {
    let line = '';
    for (let column = 0; column < size; column += 1) {
      const tile = text.substr(2 * (row * size + column), 2);
      line += { '##': '#', '[]': 'T' }[tile] ?? (tile[0] === '$' ? 'M' : '.');
      if (tile[0] === '$') mines.push({ row, column, owner: tile[1] === '-' ? -1 : Number(tile[1]) - 1 });
    }
    tiles.push(line);
  }
  const heroes = game.heroes.map(({ pos, life, gold }) => ({ row: pos.x, column: pos.y, life, gold }));
  return { size, tiles, me: hero.id - 1, heroes, mines };
}

async function play(server, key) {
  let state = await post(`${server}/api/arena`, { key }, JOIN_MS);
  console.log(`the game: ${state.viewUrl}`);
  while (!state.game.finished) state = await post(state.playUrl, { dir: choose(stateOf(state)), turn: state.game.turn }, MOVE_MS);
}

const [server, key] = process.argv.slice(2);
if (key === undefined) {
  console.error('usage: node http.js SERVER KEY');
  process.exit(2);
}
play(server, key).catch((problem) => {
  console.error(textOf(problem));
  process.exit(1);
});
