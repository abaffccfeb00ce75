// Plays by the line protocol: `node lines.js`. Here x is the column and y the row.

'use strict';

const readline = require('node:readline');
const { choose } = require('./brain.js');

async function play() {
  const input = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const line = async () => {
    const { value, done } = await input.next();
    if (done) process.exit(0); // the game is over
    return value.trim();
  };

  const size = Number(await line());
  const tiles = [];
  while (tiles.length < size) tiles.push((await line()).replace(/[0-3]/g, '.')); // digits are spawn squares
  const me = Number(await line());

  for (;;) {
    const heroes = [], mines = [];
    for (let left = Number(await line()); left > 0; left -= 1) {
      const [kind, ...numbers] = (await line()).split(' ');
      const [id, column, row, life, gold] = numbers.map(Number);
      if (kind === 'HERO') heroes[id] = { row, column, life, gold };
      else mines.push({ row, column, owner: id });
    }
    const move = choose({ size, tiles, me, heroes, mines });
    console.log(move === 'Stay' ? 'WAIT' : move.toUpperCase());
  }
}

play();
