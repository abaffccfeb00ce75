// Chooses a move. It knows the game, and no protocol.
//
// A state is { size, tiles, me, heroes, mines }:
// - tiles[row][column]: '.' empty, '#' wood, 'T' tavern, 'M' mine
// - me: the index of our hero in heroes
// - heroes: [{ row, column, life, gold }]
// - mines: [{ row, column, owner }], where owner is the index of a hero, or -1

'use strict';

const STEPS = [['North', -1, 0], ['South', 1, 0], ['East', 0, 1], ['West', 0, -1]];
const BLOW = 20, MINE_COST = 20, BEER_COST = 2, MAX_LIFE = 100;

/** Below this life, a tavern is as attractive as a mine beside us. */
const THIRSTY = 40;
/** Moves that a square beside a stronger enemy seems to be longer. */
const FEAR = 6;

const distance = (a, b) => Math.abs(a.row - b.row) + Math.abs(a.column - b.column);

/** Return a table of costs for squares. A square near an enemy that wins a fight costs more. Heroes block the way. */
function costs({ size, tiles, me, heroes }) {
  const table = tiles.map((row) => [...row].map((tile) => (tile === '.' ? 1 : Infinity)));
  for (const enemy of heroes.filter((_, index) => index !== me)) {
    table[enemy.row][enemy.column] = Infinity;
    if (enemy.life < heroes[me].life) continue;
    for (let row = Math.max(0, enemy.row - 2); row <= Math.min(size - 1, enemy.row + 2); row += 1)
      for (let column = Math.max(0, enemy.column - 2); column <= Math.min(size - 1, enemy.column + 2); column += 1)
        if (distance(enemy, { row, column }) <= 2) table[row][column] += FEAR;
  }
  return table;
}

/** Return, for each square beside which we can stand, the cost of the way to it and the first step: Dijkstra's algorithm. */
function ways({ size, me, heroes }, table) {
  const found = table.map((row) => row.map(() => ({ cost: Infinity, step: 'Stay' })));
  found[heroes[me].row][heroes[me].column].cost = 0;
  const open = [{ row: heroes[me].row, column: heroes[me].column }];
  while (open.length) {
    open.sort((a, b) => found[b.row][b.column].cost - found[a.row][a.column].cost);
    const here = open.pop(), { cost, step } = found[here.row][here.column];
    for (const [name, down, right] of STEPS) {
      const row = here.row + down, column = here.column + right;
      if (row < 0 || column < 0 || row >= size || column >= size) continue;
      const free = Number.isFinite(table[row][column]), total = cost + (free ? table[row][column] : 1);
      if (total >= found[row][column].cost) continue;
      found[row][column] = { cost: total, step: step === 'Stay' ? name : step };
      if (free) open.push({ row, column });
    }
  }
  return found;
}

/** Return a move: 'Stay', 'North', 'South', 'East' or 'West'. */
function choose(state) {
  const { me, heroes, mines, tiles } = state, hero = heroes[me];
  const found = ways(state, costs(state));
  let best = { value: 0, step: 'Stay' };
  const consider = ({ row, column }, worth) => {
    const { cost, step } = found[row][column], value = worth / (cost + 1);
    if (value > best.value) best = { value, step };
  };
  if (hero.life > MINE_COST) for (const mine of mines) if (mine.owner !== me) consider(mine, mine.owner < 0 ? 10 : 12);
  if (hero.gold >= BEER_COST && hero.life <= MAX_LIFE - MINE_COST) {
    const worth = hero.life < THIRSTY ? 40 : 3;
    tiles.forEach((line, row) => [...line].forEach((tile, column) => tile === 'T' && consider({ row, column }, worth)));
  }
  heroes.forEach((enemy, index) => {
    const rich = mines.filter((mine) => mine.owner === index).length;
    if (index !== me && enemy.life <= BLOW && hero.life > enemy.life && rich) consider(enemy, 12 * rich);
  });
  return best.step;
}

module.exports = { choose };
