"""Invented games of a tournament: lines of results that follow from known strengths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from vindibot.arena.results import GameLine, MapLine, SeatLine, places
from vindibot.statistics.hypotheses import Hypotheses
from vindibot.statistics.ratings import POINTS, expected
from vindibot.statistics.sprt import SequentialTest

#: The six seatings of two bots with two seats each.
SEATINGS = [tuple("a" if seat in pair else "b" for seat in range(4)) for pair in combinations(range(4), 2)]


def game_line(
    bots: Sequence[str], golds: Sequence[int], *, block: int = 0, game: int = 0, games: int = 1, **more: object
) -> GameLine:
    """Return a game of these bots with this gold."""
    seats = [SeatLine(bot=bot, gold=gold, place=place) for bot, gold, place in zip(bots, golds, places(golds), strict=True)]
    data = {"tournament": "t", "block": block, "game": game, "games": games, "rounds": 30, "map": MapLine(name="m", size=10)}
    return TypeAdapter(GameLine).validate_python({"played": f"{block}/{game}", "seats": seats} | data | more)


def made_up(
    seatings: Sequence[Sequence[str]],
    ratings: dict[str, float],
    blocks: int,
    rng: np.random.Generator,
    *,
    spread: float = 0.3,
    most: int = 300,
) -> list[GameLine]:
    """Return blocks of games, one game per seating, of bots with these ratings (Elo points).

    In each block, random numbers change the strength of every bot (standard deviation `spread`) and the advantage of every seat.
    Gold is at most `most`, so there are ties.
    """
    found = []
    for block in range(blocks):
        strength = {bot: rating / POINTS + rng.normal(0, spread) for bot, rating in ratings.items()}
        seat = rng.normal(0, 0.5, 4)
        for number, bots in enumerate(seatings):
            drawn = np.array([strength[bot] for bot in bots]) + seat + rng.gumbel(size=4)
            golds = np.minimum(np.exp(drawn) * 50, most).astype(int).tolist()
            found.append(game_line(bots, golds, block=block, game=number, games=len(seatings)))
    return found


def rotations(bots: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the four rotations of four bots."""
    return [(*bots[turn:], *bots[:turn]) for turn in range(4)]


# ---- Matches of two, as scores of blocks only ----


def population(rng: np.random.Generator, spread: float, size: int = 20_000) -> NDArray[np.float64]:
    """Return scores of A in blocks of six games of two equally strong bots, by the Plackett-Luce model.

    In each block, random numbers give every seat an advantage, and A a difference to B (standard deviation `spread`). Gold is a
    whole number, so there are ties.
    """
    better, seat = rng.normal(0, spread, (size, 1)), rng.normal(0, 0.6, (size, 4))
    total = np.zeros(size)
    for pair in combinations(range(4), 2):
        mine = np.isin(range(4), pair)
        gold = np.floor(np.exp(seat + np.where(mine, better, 0) + rng.gumbel(size=(size, 4))) * 5)
        ours, theirs = gold[:, mine][:, :, None], gold[:, ~mine][:, None, :]
        total += ((ours > theirs) + 0.5 * (ours == theirs)).mean(axis=(1, 2))
    return total / len(SEATINGS)


def tilted(scores: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    """Return probabilities of the scores with which their mean is exactly `mean`, by exponential tilting."""
    low, high = -50.0, 50.0
    for _ in range(80):
        middle = (low + high) / 2
        chances = np.exp(middle * (scores - 0.5))
        chances /= chances.sum()
        low, high = (middle, high) if chances @ scores < mean else (low, middle)
    return chances


def wrong_verdicts(hypotheses: Hypotheses, true: float, matches: int, spread: float, seed: int) -> int:
    """Return the number of simulated matches with a wrong verdict, if A is stronger by `true` points."""
    rng = np.random.default_rng(seed)
    scores = population(rng, spread)
    ladder = np.cumsum(tilted(scores, expected(true)))
    wrong = 0
    for _ in range(matches):
        test = SequentialTest(hypotheses)
        verdict = "running"
        while verdict == "running":
            drawn = scores[np.searchsorted(ladder, rng.random(100)).clip(max=len(scores) - 1)]
            for score in drawn.tolist():
                verdict = test.add(score).verdict
                if verdict != "running":
                    break
        wrong += verdict == ("H1" if true == hypotheses.elo0 else "H0")
    return wrong
