// Names of things of the game, as texts show them.

/** The kinds of squares. */
export const AIR = 0;
export const WOOD = 1;
export const TAVERN = 2;
export const MINE = 3;
const LETTERS = { '.': AIR, '#': WOOD, T: TAVERN };
/** Return the kinds of the squares of a map in letters. A mine is "-" or the number of its owner. */
export const tilesOf = (letters) => Uint8Array.from(letters, (letter) => LETTERS[letter] ?? MINE);
/** The directions 0..4. */
export const DIRECTIONS = ['Stay', 'North', 'South', 'East', 'West'];
/** A sign for each direction. */
export const ARROWS = ['•', '↑', '↓', '→', '←'];
/** The keys that steer a hero, and their directions. */
export const STEERING = { ArrowUp: 1, ArrowDown: 2, ArrowRight: 3, ArrowLeft: 4, ' ': 0, '.': 0 };
/** The classes of bad moves, the smallest first: the sign of each, its words, and the size of its mark on the
 *  slider. */
export const MARKS = {
  inaccuracy: { sign: '?!', words: 'an inaccuracy', size: 3.2 },
  mistake: { sign: '?', words: 'a mistake', size: 4.2 },
  blunder: { sign: '??', words: 'a blunder', size: 5.5 },
};
/** The colours of the best move and of a bad move, on the board and in lists. */
export const BEST = '#37d65f';
export const BAD = '#e04bd0';
