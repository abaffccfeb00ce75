"""Objectives: what tuning maximises. An objective is a score for each seat of a game."""

from __future__ import annotations

import math
from statistics import fmean
from typing import Literal

from vindibot.arena.results import GameLine

#: The objectives. place: from 1 for the first place to 0 for the last place. win: 1 for the most gold, divided among heroes with
#: equal gold. gold: the logarithm of the gold.
Objective = Literal["place", "win", "gold"]
OBJECTIVES: tuple[Objective, ...] = ("place", "win", "gold")

#: This gold is added before the logarithm, so that a hero without gold has a finite score.
_GOLD = 20.0


def seat_scores(line: GameLine, objective: Objective) -> list[float]:
    """Return the score of each seat of a game, hero 1 first."""
    golds = [seat.gold for seat in line.seats]
    if objective == "place":
        return [(len(golds) - seat.place) / (len(golds) - 1) for seat in line.seats]
    if objective == "win":
        best = max(golds)
        return [(gold == best) / golds.count(best) for gold in golds]
    return [math.log(gold + _GOLD) for gold in golds]


def mean_score(line: GameLine, objective: Objective, label: str) -> float:
    """Return the mean score of the seats of the bot `label` in a game."""
    scores = seat_scores(line, objective)
    return fmean(score for seat, score in zip(line.seats, scores, strict=True) if seat.bot == label)
