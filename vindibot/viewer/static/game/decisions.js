// Facts about decisions. A decision of our bot is a turn of `why`. A reviewed decision is a turn of `review`
// (docs/viewer-format.md).

import { ARROWS, DIRECTIONS } from './names.js';

/** A decision is close if the lead of the move is at most this share of its lead over the worst candidate. */
const CLOSE = 0.05;

/** Return the best candidate other than the move, or null. */
export function runnerUp(turn) {
  const others = turn.candidates.filter((direction) => direction !== turn.move);
  return others.length ? others.reduce((best, one) => (turn.sums[one] > turn.sums[best] ? one : best)) : null;
}

/** Return whether a decision is close: another candidate has almost the same sum as the move, and a third candidate
 *  has not. */
export function isClose(turn) {
  const other = runnerUp(turn);
  if (other === null || turn.fallback) return false;
  const worst = Math.min(...turn.candidates.map((direction) => turn.sums[direction]));
  const best = turn.sums[turn.move];
  return best > worst && best - turn.sums[other] <= CLOSE * (best - worst);
}

/** Return why a decision counts as late, in words; an empty text if it does not. */
export function lateReason(turn) {
  const said = [];
  if (turn.left_ms < 0) said.push(`${Math.round(-turn.left_ms)} ms late`);
  if (turn.fallback) said.push('fallback, no trait answered in time');
  const slow = turn.votes.filter(({ status }) => status === 'late' || status === 'killed').map(({ trait }) => trait);
  if (slow.length) said.push(`no last answer of ${slow.join(', ')}`);
  return said.join('; ');
}

/** Return an amount of gold as text, with at most one digit after the point. */
export function gold(value) {
  return (Math.abs(value) < 10 ? value.toFixed(1) : String(Math.round(value))).replace('-', '−');
}

/** Return what a move lost against the best move, with its error, in words. */
export function lossText(loss, error, best) {
  return `${gold(loss)} ± ${gold(error)} gold against ${DIRECTIONS[best]}`;
}

/** Return a description of the bad move of a reviewed turn, in words. */
export function badMove({ mark, move, best, loss, kind }) {
  const why = kind ? ` (${kind})` : '';
  return `${mark}, ${DIRECTIONS[move]} loses ${Math.round(loss)} gold against ${DIRECTIONS[best]}${why}`;
}

/** Return the moves of a principal variation as { hero, sign, name }. `mover` is the hero of the first move. */
export function lineOf(vote, mover) {
  return Array.from(vote.pv ?? '', (letter, i) => {
    const direction = '.NSEW'.indexOf(letter);
    return { hero: (mover + i) & 3, sign: ARROWS[direction] ?? letter, name: DIRECTIONS[direction] ?? letter };
  });
}
