// Names of things of the game, as texts show them.

/** The directions 0..4. */
export const DIRECTIONS = ['Stay', 'North', 'South', 'East', 'West'];
/** A sign for each direction. */
export const ARROWS = ['•', '↑', '↓', '→', '←'];
/** The classes of bad moves, the smallest first: the sign of each, and the size of its mark on the slider. */
export const MARKS = {
  inaccuracy: { sign: '?!', size: 3.2 },
  mistake: { sign: '?', size: 4.2 },
  blunder: { sign: '??', size: 5.5 },
};
/** The colours of the best move and of a bad move, on the board and in lists. */
export const BEST = '#37d65f';
export const BAD = '#e04bd0';
