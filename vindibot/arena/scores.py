"""What the games of a tournament say to the estimates of `vindibot.statistics`: ratings, scores of blocks, the sequential test.

In a match of two bots A and B, a block is one map and seed in all seatings. A pair is one seat of A and one seat of B in the same
game. The score of a game is the share of its pairs in which A has more gold; a tie counts one half. The score of a block is the
mean over its games.

A game that could not be played counts for no bot. The score of its block is the mean over the other games of the block. A block
without any other game has no score, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from vindibot.arena.results import GameLine, that_count
from vindibot.arena.settings import SprtSettings
from vindibot.statistics.ratings import RESAMPLES, Rating, rate
from vindibot.statistics.sprt import SequentialTest, SprtState


def rate_games(
    games: Iterable[GameLine], bots: Iterable[str] = (), *, anchor: str | None = None, resamples: int = RESAMPLES
) -> list[Rating]:
    """Return the ratings of all bots, best first (`vindibot.statistics.ratings.rate`).

    Games that could not be played are left out. The result does not depend on the order of the games.
    """
    lines = sorted(that_count(games), key=lambda line: line.key)
    played = [(line.block, line.bots, [seat.place for seat in line.seats]) for line in lines]
    return rate(played, bots, anchor=anchor, resamples=resamples)


def game_score(line: GameLine, a: str) -> float | None:
    """Return the score of bot `a` in one game, None if `a` has no seat or all four seats.

    The score is the share of pairs (a seat of `a`, a seat of another bot) in which `a` has more gold. A tie counts one half.
    """
    own = [seat.gold for seat in line.seats if seat.bot == a]
    others = [seat.gold for seat in line.seats if seat.bot != a]
    pairs = [((gold > other) + (gold >= other)) / 2 for gold in own for other in others]
    return sum(pairs) / len(pairs) if pairs else None


def whole_blocks(games: Iterable[GameLine]) -> dict[int, list[GameLine]]:
    """Return the games of each complete block, by the block's number. Blocks and their games are sorted by number.

    A block is complete if none of its games is still to be played. Games that could not be played are left out. So the list of a
    block may be empty.
    """
    found: dict[int, list[GameLine]] = {}
    for line in sorted(games, key=lambda line: line.key):
        found.setdefault(line.block, []).append(line)
    return {block: that_count(lines) for block, lines in found.items() if len(lines) >= lines[0].games}


def block_score(lines: Iterable[GameLine], a: str) -> float | None:
    """Return the mean score of bot `a` over the games of one block, None if `a` met no other bot in them."""
    scores = [score for line in lines if (score := game_score(line, a)) is not None]
    return sum(scores) / len(scores) if scores else None


def distinct_share(games: Iterable[GameLine]) -> float | None:
    """Return the share (0..1) of distinct games, that is, games with a digest of moves that no earlier game has.

    Games without a digest are left out, and games that could not be played. If no game is left, return None.
    """
    played = [line.played for line in that_count(games) if line.played]
    return len(set(played)) / len(played) if played else None


def run_sprt(games: Iterable[GameLine], a: str, settings: SprtSettings | None = None) -> SprtState:
    """Return the state of the test for bot `a` after these games.

    The blocks are added in their order, up to the first incomplete block or to the verdict. So the verdict does not depend on
    the order in which the games ended, and later games do not change it. A block whose games could not be played is left out.
    """
    test = SequentialTest((settings or SprtSettings()).hypotheses())
    state = test.state()
    distinct: set[str] = set()
    total = 0
    for number, (block, lines) in enumerate(whole_blocks(games).items()):
        if block != number:
            break
        score = block_score(lines, a)
        if score is None:
            continue
        played = [line.played for line in lines if line.played]
        distinct.update(played)
        total += len(played)
        state = test.add(score, len(distinct) / total if total else None)
        if state.verdict in ("H0", "H1"):
            break
    return state


def match_scores(games: Iterable[GameLine], a: str) -> list[float]:
    """Return the score of bot `a` in each complete block that has one, in the order of the blocks."""
    return [score for lines in whole_blocks(games).values() if (score := block_score(lines, a)) is not None]
