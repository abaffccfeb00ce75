// The overlays that explain a state on the board, as marks (see `Board.mark`).

import { SQUARE, neighbours } from '../game/model.js';
import { AIR, BAD, BEST, MINE, TAVERN, WOOD } from '../game/names.js';
import { HEROES } from './sprites.js';

const someTurn = (game, has) => [...game.why.values()].some(has);

/** The overlays with their keys. `votes` says that an overlay needs the votes of our bot, `review` that it needs a
 *  review. `fed` returns whether the game has anything that the overlay can show, and `without` says what is
 *  missing. An overlay without `fed` always has something to show. */
export const OVERLAYS = [
  {
    id: 'review',
    key: 'W',
    label: 'Review',
    tip: 'an arrow for the best move (green) and one for the played move (pink if it was bad, else white)',
    review: true,
  },
  {
    id: 'line',
    key: 'E',
    label: 'Expected line',
    tip: 'the moves that the search expects of all heroes in turn',
    votes: true,
    fed: (game) => someTurn(game, (turn) => searches(turn).length),
    without: 'no trait of this bot says which moves it expects',
  },
  {
    id: 'goals',
    key: 'G',
    label: 'Goals',
    tip: 'the square that each trait goes to',
    votes: true,
    fed: (game) => someTurn(game, (turn) => turn.votes.some((vote) => vote.goal >= 0)),
    without: 'no trait of this bot names the square that it goes to',
  },
  {
    id: 'sums',
    key: 'V',
    label: 'Votes',
    tip: 'the sum of the votes for each direction',
    votes: true,
    fed: (game) => game.why.size > 0,
    without: 'no turn of our bot is known',
  },
  {
    id: 'combat',
    key: 'C',
    label: 'Combat map',
    tip: 'squares where our hero gains (green) or loses (red) a fight',
    votes: true,
    fed: (game) => someTurn(game, (turn) => turn.combat?.length),
    without: 'no fight was possible in any turn',
  },
  {
    id: 'marks',
    key: 'H',
    label: 'Marked squares',
    tip: 'the squares that bots have marked, in the colours of their heroes',
    fed: (game) => [...game.notes.values()].some(({ notes }) => notes.some(({ square }) => square !== undefined)),
    without: 'no bot has marked a square',
  },
  { id: 'distances', key: 'S', label: 'Distances', tip: 'number of moves of the selected hero to each square' },
  { id: 'territory', key: 'R', label: 'Territory', tip: 'the hero that reaches each square first' },
];

/** Return the number of moves that a hero needs to reach each square. The way leads over squares of air without
 *  heroes; its last square may be a mine or a tavern. The number is -1 for walls and for squares out of reach. */
export function distances(game, state, hero) {
  const { size, tiles } = game,
    found = new Int16Array(size * size).fill(-1);
  const start = game.value(state, hero, SQUARE);
  if (start < 0) return found;
  const taken = new Set([0, 1, 2, 3].map((other) => game.value(state, other, SQUARE)));
  const queue = [start];
  found[start] = 0;
  for (let head = 0; head < queue.length; head++) {
    const square = queue[head];
    if (square !== start && (tiles[square] !== AIR || taken.has(square))) continue;
    for (const next of neighbours(square, size)) {
      if (found[next] >= 0 || tiles[next] === WOOD) continue;
      found[next] = found[square] + 1;
      queue.push(next);
    }
  }
  return found;
}

/** Return for each square the hero (0..3) that can reach it first, -1 for none. Distances are in plies, so there are
 *  no ties. */
export function territory(game, state) {
  const mover = game.mover(state),
    ways = [0, 1, 2, 3].map((hero) => distances(game, state, hero));
  return Int8Array.from(game.tiles, (_, square) => {
    let best = -1,
      soonest = Infinity;
    for (let hero = 0; hero < 4; hero++) {
      const far = ways[hero][square],
        plies = 4 * far + ((hero - mover + 4) & 3);
      if (far >= 0 && plies < soonest) {
        best = hero;
        soonest = plies;
      }
    }
    return best;
  });
}

const rgba = (hex, alpha) =>
  `${hex}${Math.round(255 * alpha)
    .toString(16)
    .padStart(2, '0')}`;

/** Return the votes of a turn that have a path, a principal variation or a goal. Votes with a principal variation
 *  come first. */
function searches(turn) {
  return (turn?.votes ?? []).filter((vote) => vote.path?.length).sort((a, b) => (b.depth ?? 0) - (a.depth ?? 0));
}

const DRAW = {
  territory(marks, game, { state }) {
    territory(game, state).forEach((hero, square) => {
      if (hero >= 0 && game.tiles[square] !== MINE && game.tiles[square] !== TAVERN)
        marks.fills.push([square, rgba(HEROES[hero].main, 0.34)]);
    });
  },

  distances(marks, game, { state, hero }) {
    const ways = distances(game, state, hero),
      most = Math.max(1, ...ways);
    ways.forEach((far, square) => {
      if (far < 0) return;
      marks.fills.push([square, rgba(HEROES[hero].main, 0.5 * (1 - far / (most + 1)))]);
      if (far) marks.texts.push([square, String(far)]);
    });
  },

  combat(marks, game, { turn }) {
    const map = turn?.combat ?? [];
    for (let i = 0; i < map.length; i += 2) {
      const [square, value] = [map[i], map[i + 1]];
      const strength = Math.min(0.65, 0.25 + 0.2 * Math.abs(value));
      marks.fills.push([
        square,
        value < 0 ? `rgba(240,50,45,${strength})` : value > 0 ? `rgba(40,190,80,${strength})` : 'rgba(150,150,150,.3)',
      ]);
      marks.texts.push([
        square,
        value
          .toFixed(Number.isInteger(value) ? 0 : 1)
          .replace('-', '−')
          .replace('0.', '.'),
      ]);
    }
  },

  goals(marks, game, { turn }) {
    const at = new Map();
    for (const vote of turn?.votes ?? [])
      if (vote.goal >= 0) at.set(vote.goal, [...(at.get(vote.goal) ?? []), vote.trait]);
    for (const [square, traits] of at) marks.goals.push({ square, colour: '#ffe14d', text: traits.join(', ') });
  },

  marks(marks, game, { state, chosen }) {
    const texts = new Map();
    for (const { hero, notes } of game.notesAt(state, chosen))
      for (const { square, text } of notes) {
        if (square === undefined) continue;
        const at = square * 4 + hero;
        texts.set(at, [...(texts.get(at) ?? []), text.length > 24 ? `${text.slice(0, 23)}…` : text]);
      }
    for (const [at, said] of texts)
      marks.goals.push({ square: at >> 2, colour: HEROES[at & 3].main, text: said.filter(Boolean).join(', ') });
  },

  line(marks, game, { turn }) {
    const [search] = searches(turn);
    if (!search) return;
    const squares = [0, 1, 2, 3].map((hero) => [game.value(turn.ply, hero, SQUARE)]);
    search.path.forEach((square, i) => squares[(game.mover(turn.ply) + i) & 3].push(square));
    squares.forEach((way, hero) => {
      // each path has its own shift, so that all paths over the same squares are visible
      if (way[0] >= 0 && way.some((square) => square !== way[0])) {
        marks.paths.push({ squares: way, colour: HEROES[hero].main, shift: (hero - 1.5) * 0.09 });
      }
    });
  },

  review(marks, game, { reviewed }) {
    if (!reviewed) return;
    const { hero, move, best, mark } = reviewed,
      square = game.value(reviewed.ply, hero, SQUARE);
    if (square < 0) return;
    marks.arrows.push({ square, direction: best, colour: BEST, size: 0.9 });
    if (move !== best) marks.arrows.push({ square, direction: move, colour: mark ? BAD : '#ffffff', size: 0.4 });
  },

  sums(marks, game, { turn }) {
    if (!turn) return;
    const square = game.value(turn.ply, game.me, SQUARE),
      sums = turn.candidates.map((direction) => turn.sums[direction]);
    const low = Math.min(...sums),
      wide = Math.max(...sums) - low || 1;
    if (square < 0) return;
    for (const direction of turn.candidates) {
      const size = (turn.sums[direction] - low) / wide;
      const colour = direction === turn.move ? '#37d65f' : '#ffffff';
      marks.arrows.push({ square, direction, colour, size });
    }
  },
};

/** Return the marks of the overlays in `shown` (ids) for { state, hero, chosen, turn, reviewed }. `chosen` is the
 *  hero that the user has chosen or -1, `turn` is one of our turns or null, `reviewed` is a reviewed turn or null. */
export function marksOf(shown, game, what) {
  const marks = { fills: [], texts: [], paths: [], goals: [], arrows: [] };
  for (const { id } of [...OVERLAYS].reverse()) if (shown.has(id)) DRAW[id](marks, game, what);
  return marks;
}
