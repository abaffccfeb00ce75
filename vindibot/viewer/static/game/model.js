// The game of a page. It gives access to all states of the bundle (docs/viewer-format.md), in any order. Patches add
// states while the game runs.

import { isClose, lateReason } from './decisions.js';
import { DIRECTIONS, MINE, tilesOf } from './names.js';

/** Fields of a hero in a state. */
export const SQUARE = 0;
export const LIFE = 1;
export const GOLD = 2;
export const MINES = 3;
export const CRASHED = 4;
const FIELDS = 5,
  HEROES = 4,
  PER_STATE = FIELDS * HEROES;
/** Number of parts of a game: in each part one bad move is marked, so that the marks do not cover each other. */
const PARTS = 60;

export class Game {
  constructor(bundle) {
    this.bundle = bundle;
    this.size = bundle.size;
    this.tiles = tilesOf(bundle.tiles);
    this.mineSquares = [...this.tiles.keys()].filter((square) => this.tiles[square] === MINE);
    this.mineIndex = new Map(this.mineSquares.map((square, index) => [square, index]));
    this.names = bundle.players.map((player) => player.name);
    this.me = bundle.me ?? -1;
    this.spawns = bundle.spawns;
    this.plies = [];
    this.turns = [bundle.start.turn];
    this.gaps = [Boolean(bundle.start.gap)];
    this.owners = [
      Uint8Array.from(this.mineSquares, (square) =>
        (/[0-3]/.test(bundle.tiles[square]) ? +bundle.tiles[square] + 1 : 0)),
    ];
    this.values = new Int32Array(PER_STATE * 512);
    this.values.set(bundle.start.heroes.flat());
    this.movedAt = new Int32Array(HEROES * 512); // the last state in which a hero had moved to another square
    // Of each kind { state, heroes, ... } in order; `turn` is the turn of a decision, `reviewed` that of a review.
    this.events = { kill: [], death: [], mine: [], late: [], close: [], bad: [], ours: [] };
    this.crashes = [];
    this.late = [];
    this.why = new Map(); // our turns by the state in which we decided
    this.whyPlies = [];
    this.notes = new Map(); // { ply, hero, notes } by the number 4 * ply + hero
    this.ending = bundle.ending;
    this.results = bundle.results;
    this.live = bundle.live;
    this._add(bundle.plies);
    this._file(bundle.why?.turns ?? []);
    this._hear(bundle.notes ?? []);
    this.review = bundle.review ?? null;
    for (const reviewed of this.review?.turns ?? [])
      if (reviewed.mark) this.events.bad.push({ state: reviewed.ply, heroes: [reviewed.hero], reviewed });
    this.worst = this.events.bad.map(({ reviewed }) => reviewed).sort((a, b) => b.loss - a.loss);
    this.marked = spread(this.worst, this.last);
    this.expected = expectedGold(this.review?.turns ?? []);
  }

  /** The number of the last known state. */
  get last() {
    return this.plies.length;
  }

  value(state, hero, field) {
    return this.values[state * PER_STATE + hero * FIELDS + field];
  }

  /** Return a hero in a state as an object. */
  hero(state, hero) {
    const [square, life, gold, mines, crashed] = this.values.subarray(state * PER_STATE + hero * FIELDS);
    return { square, life, gold, mines, crashed: Boolean(crashed) };
  }

  heroes(state) {
    return [0, 1, 2, 3].map((hero) => this.hero(state, hero));
  }

  /** Return the hero that moves next in a state. */
  mover(state) {
    return this.turns[state] & 3;
  }

  /** Return our last turn at or before a state. Return null if there is no such turn, or if a gap lies between the
   *  turn and the state. */
  turnFor(state) {
    const ply = this.whyPlies.findLast((one) => one <= state);
    return ply === undefined || this._gapIn(ply, state) ? null : this.why.get(ply);
  }

  /** Return the last reviewed turn at or before a state. Return null if there is none, or if a gap lies between the
   *  turn and the state. Only turns of `hero` count, or all turns if `hero` is -1. */
  reviewFor(state, hero = -1) {
    const found = this.review?.turns.findLast((one) => one.ply <= state && (hero < 0 || one.hero === hero));
    return found && !this._gapIn(found.ply, state) ? found : null;
  }

  /** Return whether a gap lies between two states. */
  _gapIn(from, to) {
    return this.gaps.slice(from + 1, to + 1).some(Boolean);
  }

  /** Return the board of a state in words. With `places`, they say where the heroes are, and our hero is "You". */
  inWords(state, places = false) {
    const heroes = this.heroes(state).map(({ life, gold, mines, square }, i) => {
      const place = `, row ${Math.floor(square / this.size) + 1}, column ${(square % this.size) + 1}`,
        name = places && i === this.me ? 'You' : this.names[i];
      return `${name}: life ${life}, gold ${gold}, mines ${mines}${places ? place : ''}`;
    });
    return `The board at turn ${this.turns[state]}. ${heroes.join('; ')}.`;
  }

  /** Return the notes that a state shows as { hero, ply, notes }: those of the latest turn of each hero. Only notes of
   *  `hero` count, or all notes if `hero` is -1. */
  notesAt(state, hero = -1) {
    const found = [];
    for (let ply = Math.max(0, state - 3); ply <= state; ply++)
      for (let one = 0; one < HEROES; one++) {
        const said = (hero < 0 || one === hero) && this.notes.get(ply * HEROES + one);
        if (said && !this._gapIn(ply, state)) found.push(said);
      }
    return found;
  }

  /** Return the events of the ply before a state in words, a sentence per event. */
  happened(state) {
    return describe(this.plies[state - 1], (hero) => `${hero + 1} ${this.names[hero]}`);
  }

  /** Return the bundle of a line: a game that begins in the state of a reviewed turn and goes on with the plies of
   *  the line. */
  lineFrom(state, plies) {
    const { bundle } = this,
      owners = this.owners[state];
    const letters = [...bundle.tiles];
    this.mineSquares.forEach((square, index) => {
      letters[square] = owners[index] ? String(owners[index] - 1) : '-';
    });
    const heroes = this.heroes(state).map(({ square, life, gold, mines, crashed }) =>
      [square, life, gold, mines, Number(crashed)]);
    const start = { turn: this.turns[state], heroes, gap: false };
    return {
      ...bundle,
      tiles: letters.join(''),
      start,
      plies,
      why: null,
      notes: [],
      review: null,
      ending: null,
      results: null,
      live: false,
    };
  }

  /** Apply a patch. Return true if the patch had any news. */
  apply(patch) {
    const before = this.last,
      votes = this.whyPlies.length;
    if (patch.plies) {
      const known = this.last - patch.from;
      if (known >= 0) this._add(patch.plies.slice(known));
    }
    if (patch.why) this._file(patch.why);
    if (patch.notes) this._hear(patch.notes);
    if (patch.ending) this.ending = patch.ending;
    if (patch.results) this.results = patch.results;
    return this.last > before || this.whyPlies.length > votes || Boolean(patch.ending);
  }

  _file(turns) {
    for (const turn of turns) {
      if (!this.why.has(turn.ply)) this.whyPlies.push(turn.ply);
      this.why.set(turn.ply, turn);
    }
    this.whyPlies.sort((a, b) => a - b);
    const ours = this.whyPlies.map((state) => ({ state, heroes: [this.me], turn: this.why.get(state) }));
    this.events.ours = ours;
    this.events.close = ours.filter(({ turn }) => isClose(turn));
    this.late = ours.filter(({ turn }) => lateReason(turn));
    this._sortLate();
  }

  _hear(notes) {
    for (const one of notes) this.notes.set(one.ply * HEROES + one.hero, one);
  }

  /** Put our late decisions and the crashes of all heroes into one list. */
  _sortLate() {
    this.events.late = [...this.crashes, ...this.late].sort((a, b) => a.state - b.state);
  }

  _add(plies) {
    for (const ply of plies) {
      this.plies.push(ply);
      const state = this.plies.length,
        base = state * PER_STATE;
      this._reserve(state);
      this.values.copyWithin(base, base - PER_STATE, base);
      this.movedAt.copyWithin(state * HEROES, (state - 1) * HEROES, state * HEROES);
      for (const [hero, ...fields] of ply.c ?? []) {
        if (fields[SQUARE] !== this.value(state - 1, hero, SQUARE)) this.movedAt[state * HEROES + hero] = state;
        this.values.set(fields, base + hero * FIELDS);
      }
      this.turns.push(ply.t);
      this.gaps.push(Boolean(ply.gap));
      this._note(state, ply);
    }
  }

  _reserve(state) {
    if ((state + 1) * PER_STATE <= this.values.length) return;
    for (const name of ['values', 'movedAt']) {
      const larger = new Int32Array(this[name].length * 2);
      larger.set(this[name]);
      this[name] = larger;
    }
  }

  /** Store the owners of the mines after a ply, and the events to which the user can jump. */
  _note(state, ply) {
    const before = this.owners[state - 1];
    let owners = before;
    const taken = (ply.e ?? []).filter(([kind]) => kind === 'mine');
    if (ply.m || taken.length) {
      owners = before.slice();
      // In one ply, a mine can have three owners: its taker kills a hero on whose spawn it stands, and dies there.
      const after = new Map(taken.map(([, , square]) =>
        [this.mineIndex.get(square), before[this.mineIndex.get(square)]]));
      for (const [square, owner] of ply.m ?? []) after.set(this.mineIndex.get(square), owner === null ? 0 : owner + 1);
      for (const [index, owner] of after) owners[index] = owner;
      if (!ply.gap) {
        const heroes = [...after].flatMap(([index, owner]) => [before[index], owner]).filter(Boolean);
        this.events.mine.push({ state, heroes: [...new Set(heroes.map((one) => one - 1))] });
      }
    }
    this.owners.push(owners);
    for (const [kind, hero, other] of ply.e ?? []) {
      if (kind === 'kill') {
        this.events.kill.push({ state, heroes: [hero] });
        this.events.death.push({ state, heroes: [other], by: hero });
      } else if (kind === 'death') this.events.death.push({ state, heroes: [hero], by: -1 });
      else if (kind === 'crash') {
        this.crashes.push({ state, heroes: [hero] });
        this._sortLate();
      }
    }
  }

  /** Return the state of the next (`way` 1) or the previous (-1) event of a kind. Only events of `hero` count, or
   *  all events if `hero` is -1. */
  seek(kind, state, way, hero = -1) {
    const list = this.events[kind].filter((one) => hero < 0 || one.heroes.includes(hero));
    const found = way > 0 ? list.find((one) => one.state > state) : list.findLast((one) => one.state < state);
    return found ? found.state : null;
  }
}

/** Return the squares beside a square. */
export function neighbours(square, size) {
  const column = square % size,
    next = [];
  if (square >= size) next.push(square - size);
  if (square < size * (size - 1)) next.push(square + size);
  if (column < size - 1) next.push(square + 1);
  if (column > 0) next.push(square - 1);
  return next;
}

/** Return the bad moves that sliders and curves mark: the worst bad move of each part of the game. `worst` has all
 *  bad moves, the worst one first. The result has the worst one last. */
function spread(worst, last) {
  const found = new Map();
  for (const one of worst) {
    const part = Math.floor((one.ply / Math.max(1, last)) * PARTS);
    if (!found.has(part)) found.set(part, one);
  }
  return [...found.values()].reverse();
}

/** Return the gold that each hero is expected to have at the end: { state, gold } for each reviewed turn, after the
 *  move that was played. If several heroes were reviewed, `gold` is the mean over the turns of a round. */
function expectedGold(turns) {
  const golds = turns.map(({ move, values }) => values.find(([direction]) => direction === move)[1]);
  return turns.map(({ ply }, i) => {
    const round = golds.filter((_, k) => k <= i && turns[k].ply > ply - HEROES);
    const mean = (hero) => round.reduce((sum, gold) => sum + gold[hero], 0) / round.length;
    return { state: ply, gold: [0, 1, 2, 3].map(mean) };
  });
}

/** Return the events of a ply in words, a sentence per event. `name` is a function that returns the name of a hero. */
function describe(ply, name) {
  if (ply.gap) return ['Turns are missing here.'];
  const dead = new Set((ply.e ?? []).filter(([kind]) => kind === 'kill').map(([, , victim]) => victim));
  const said = [];
  for (const [kind, hero, a, b] of ply.e ?? []) {
    if (kind === 'mine') said.push(`${name(hero)} takes a mine${b === null ? '' : ` from ${name(b)}`}`);
    else if (kind === 'beer') said.push(`${name(hero)} drinks, +${b} life`);
    else if (kind === 'blow' && !dead.has(a)) said.push(`${name(hero)} strikes ${name(a)}`);
    else if (kind === 'kill') said.push(`${name(hero)} kills ${name(a)}${b === 'spawn' ? ' by respawning' : ''}`);
    else if (kind === 'death') said.push(`${name(hero)} dies in a mine`);
    else if (kind === 'heir' && b > 0)
      said.push(`${b} ${b === 1 ? 'mine passes' : 'mines pass'} to ${a === null ? 'no hero' : name(a)}`);
    else if (kind === 'crash') said.push(`${name(hero)} crashes and stays where it is from now on`);
  }
  if (!said.length && ply.o !== undefined) said.push(`${name(ply.h)}: ${DIRECTIONS[ply.o] ?? 'late'}`);
  return said;
}
