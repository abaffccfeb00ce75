"""Print what one bot did in results of the arena, with intervals: ``python -m tests.support.compare BOT RESULTS ...``.

With ``--base RESULTS ...`` the bot of each results file is compared with the bot of the same label in a second file, in the games
that both files have. The tables of ``docs/strength`` with intervals of games won, deaths and stalled rounds are from here.

The bot has one seat in every game. Games that could not be played are left out. Intervals are 95 % intervals of Student's t over
blocks, cut at the range of the figure. If all blocks are equal, this interval would have the width 0. Then the interval of a
share is that of the arena (`vindibot.statistics.shares`), and other figures have none. The interval of the points is from the
jackknife over blocks (`jackknife`). If the bot is always or never ahead, its points are computed as if it had
lost or won half a game, so they are finite.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vindibot.arena.results import GameLine, ResultsError, read_results, that_count
from vindibot.statistics.means import mean_interval
from vindibot.statistics.shares import estimate_share

Floats = NDArray[np.float64]
#: A game: the number of its file, its block, its number in the block.
Key = tuple[int, int, int]

#: What is measured in each game. `ahead` is the share of the rivals with less gold; equal gold counts half. `share` is the bot's
#: share of the final gold of all four heroes.
FIGURES = ("won", "ahead", "deaths", "stalled", "share")
#: The figures that are shares (0..1), and the number of steps of the share in a game: a game is won or not; the bot is ahead of
#: each of three rivals or not, in steps of a half; the share of the gold has steps of a percent.
SHARES = {"won": 1, "ahead": 6, "share": 100}


def figures(game: GameLine, bot: str) -> Floats:
    """Return the figures of the bot in a game, in the order of `FIGURES`. Raises ValueError unless it has exactly one seat."""
    if game.bots.count(bot) != 1:
        raise ValueError(f"block {game.block}, game {game.game}: {bot!r} has {game.bots.count(bot)} seats, not 1")
    seat = game.seats[game.bots.index(bot)]
    rivals = np.array([one.gold for one in game.seats if one is not seat])
    ahead = np.mean((seat.gold > rivals) + 0.5 * (seat.gold == rivals))
    whole = max(1, seat.gold + int(rivals.sum()))
    return np.array([game.winner == bot, ahead, seat.deaths, seat.stalled or 0, seat.gold / whole], dtype=np.float64)


def games_of(files: Iterable[Sequence[GameLine]], bot: str) -> dict[Key, Floats]:
    """Return the figures of the bot in each game of these files."""
    return {(number, *game.key): figures(game, bot) for number, games in enumerate(files) for game in that_count(games)}


def by_block(games: dict[Key, Floats]) -> Floats:
    """Return the mean figures of each block (blocks x figures)."""
    blocks = sorted({key[:2] for key in games})
    return np.array([np.mean([found for key, found in games.items() if key[:2] == block], axis=0) for block in blocks])


def figure_interval(games: dict[Key, Floats], name: str) -> tuple[float, float, float]:
    """Return the mean of a figure, one of `FIGURES`, over blocks, and its 95 % interval, within the range of the figure."""
    values = by_block(games)[:, FIGURES.index(name)]
    mean, low, high = mean_interval(values)
    largest = 1.0 if name in SHARES else np.inf
    if low < high or len(values) < 2:
        return mean, max(0.0, low), min(largest, high)
    if name not in SHARES:
        return mean, np.nan, np.nan
    sizes = [SHARES[name] * sum(key[:2] == block for key in games) for block in sorted({key[:2] for key in games})]
    found = estimate_share((values * sizes).tolist(), sizes)
    return mean, found.low, found.high


def rating(ahead: float, games: int) -> float:
    """Return the Elo points above a rival at which a bot is ahead of it in the share `ahead` (0..1) of `games` games.

    The share counts as at least half a game, and as at most all games except for half a game. So the points are finite.
    """
    least = 0.5 / (games + 1)
    share = min(max(ahead, least), 1 - least)
    return float(400 * (np.log10(share) - np.log10(1 - share)))


def jackknife(figure: Callable[[NDArray[np.bool_]], float], blocks: int) -> tuple[float, float, float]:
    """Return a figure of all blocks, and its 95 % interval from the jackknife over blocks.

    `figure` gets which of the blocks to use (an array of bool). Source: B. Efron, The Jackknife, the Bootstrap and Other
    Resampling Plans, 1982, chapter 3. With one block, the interval is not a number.
    """
    whole = figure(np.ones(blocks, bool))
    if blocks < 2:
        return whole, math.nan, math.nan
    parts = np.array([figure(np.arange(blocks) != left_out) for left_out in range(blocks)])
    _, low, high = mean_interval(blocks * whole - (blocks - 1) * parts)
    return whole, low, high


def points(base: dict[Key, Floats], games: dict[Key, Floats]) -> tuple[float, float, float]:
    """Return the difference of the ratings of two bots against the same rivals, and its interval."""
    column = FIGURES.index("ahead")
    before, after = by_block(base)[:, column], by_block(games)[:, column]

    def difference(kept: NDArray[np.bool_]) -> float:
        size = round(len(games) * kept.mean())
        return rating(after[kept].mean(), size) - rating(before[kept].mean(), size)

    return jackknife(difference, len(after))


def main(arguments: Sequence[str]) -> int:
    """Print the figures. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.compare", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("bot", help="label of the bot, the same in all files")
    parser.add_argument("results", nargs="+", type=Path, help="results files")
    parser.add_argument("--base", nargs="+", type=Path, default=[], help="results files to compare with, in the same order")
    given = parser.parse_args(arguments)
    if given.base and len(given.base) != len(given.results):
        parser.error(f"{len(given.results)} results files, but {len(given.base)} to compare with")
    try:
        games = games_of([read_results(path) for path in given.results], given.bot)
        base = games_of([read_results(path) for path in given.base], given.bot)
    except (ResultsError, ValueError) as problem:
        parser.error(str(problem))
    if given.base:
        both = base.keys() & games.keys()
        base, games = ({key: of[key] for key in both} for of in (base, games))
    if not games:
        parser.error("no games")
    blocks = by_block(games)
    print(f"{len(games)} games in {len(blocks)} blocks")
    for name in FIGURES:
        print("{:8} {:8.3f} ({:.3f} .. {:.3f})".format(name, *figure_interval(games, name)))
    stalled, won = (np.array([found[FIGURES.index(name)] for found in games.values()]) for name in ("stalled", "won"))
    for what, chosen in (("won", won == 1), ("not won", won == 0)):
        print(f"stalled in {chosen.sum()} games {what}: {stalled[chosen].mean() if chosen.any() else np.nan:.1f}")
    if given.base:
        before = by_block(base)
        print("differences to the base")
        for column, name in enumerate(FIGURES):
            print("{:8} {:+8.3f} ({:+.3f} .. {:+.3f})".format(name, *mean_interval((blocks - before)[:, column])))
        print("{:8} {:+8.1f} ({:+.1f} .. {:+.1f})".format("points", *points(base, games)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
