// Plays over HTTP: `node http.js SERVER KEY`. Here x is the row and y the column.

'use strict';

const { choose } = require('./brain.js');

/** Number of times that a request is sent if no answer comes. */
const ATTEMPTS = 3;

/** The server's answer is an error. */
class Refusal extends Error {}

/** Send a form and return the answer. A move has its turn, so the server plays it once even if it arrives twice. */
async function post(url, form) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form) });
      if (!answer.ok) throw new Refusal(`${answer.status}: ${await answer.text()}`);
      return await answer.json();
    } catch (problem) {
      if (problem instanceof Refusal || attempt === ATTEMPTS) throw problem;
    }
  }
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
  let state = await post(`${server}/api/arena`, { key });
  console.log(`the game: ${state.viewUrl}`);
  while (!state.game.finished) state = await post(state.playUrl, { dir: choose(stateOf(state)), turn: state.game.turn });
}

const [server, key] = process.argv.slice(2);
if (key === undefined) {
  console.error('usage: node http.js SERVER KEY');
  process.exit(2);
}
play(server, key).catch((problem) => {
  console.error(problem.cause ? `${problem.message}: ${problem.cause.message}` : problem.message);
  process.exit(1);
});
