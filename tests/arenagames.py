"""Made-up games of a tournament: lines of results whose order comes from known strengths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from vindibot.arena.ratings import POINTS
from vindibot.arena.results import GameLine, MapLine, SeatLine, places

#: The six ways in which two bots share the four seats.
SEATINGS = [tuple("a" if seat in pair else "b" for seat in range(4)) for pair in combinations(range(4), 2)]


def game_line(
    bots: Sequence[str], golds: Sequence[int], *, block: int = 0, game: int = 0, games: int = 1, **more: object
) -> GameLine:
    """A game of these bots with this much gold."""
    seats = [SeatLine(bot=bot, gold=gold, place=place) for bot, gold, place in zip(bots, golds, places(golds), strict=True)]
    data = {"tournament": "t", "block": block, "game": game, "games": games, "rounds": 30, "map": MapLine(name="m", size=10)}
    return GameLine.model_validate({"played": f"{block}/{game}", "seats": seats} | data | more)


def made_up(
    seatings: Sequence[Sequence[str]],
    ratings: dict[str, float],
    blocks: int,
    rng: np.random.Generator,
    *,
    spread: float = 0.3,
    most: int = 300,
) -> list[GameLine]:
    """Blocks of games, one for each seating, of bots with these ratings (Elo points). In each block every bot is better or
    worse than that by a normal `spread` (of strength), and every seat has an advantage. Gold is cut at `most`: ties."""
    found = []
    for block in range(blocks):
        mood = {bot: rating / POINTS + rng.normal(0, spread) for bot, rating in ratings.items()}
        seat = rng.normal(0, 0.5, 4)
        for number, bots in enumerate(seatings):
            drawn = np.array([mood[bot] for bot in bots]) + seat + rng.gumbel(size=4)
            golds = np.minimum(np.exp(drawn) * 50, most).astype(int).tolist()
            found.append(game_line(bots, golds, block=block, game=number, games=len(seatings)))
    return found


def rotations(bots: Sequence[str]) -> list[tuple[str, ...]]:
    """The four rotations of four bots round the table."""
    return [(*bots[turn:], *bots[:turn]) for turn in range(4)]
