"""Distances, duels and weights for slow second implementations: without tables, with distances found by walking.

`reference.Reference` is the game.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache

from behaviours.common.evaluation import NetWorthWeights, Weights
from tests.support.reference import STEPS, Reference

Place = tuple[int, int]

#: Distance of a square that cannot be reached.
AWAY = 255
#: The directions in the order of their numbers.
_WAYS = ("North", "South", "East", "West")


def _next(place: Place, way: str) -> Place:
    return place[0] + STEPS[way][0], place[1] + STEPS[way][1]


@lru_cache(maxsize=4096)
def _walk(board: frozenset[tuple[Place, str]], start: Place) -> dict[Place, int]:
    """Return the moves from `start` to every square in reach: ways lead over air, and end at a tavern or a mine."""
    tiles, found, queue = dict(board), {start: 0}, deque([start])
    while queue:
        here = queue.popleft()
        for way in _WAYS:
            there = _next(here, way)
            if there not in found and tiles.get(there, "##") != "##":
                found[there] = found[here] + 1
                if tiles[there] == "  ":
                    queue.append(there)
    return found


def net_worth_only() -> Weights:
    """Return weights with which only net worths count: the scores of the four heroes add up to 0."""
    fields = Weights.model_json_schema()["properties"]
    off = {name: 0 for name in fields if name not in NetWorthWeights.model_fields and fields[name]["minimum"] == 0}
    return Weights(**{**off, "rivals": 1, "leader": 0})


class Places:
    """The mines and taverns of a game, and distances."""

    def __init__(self, game: Reference) -> None:
        self.game = game
        self._board = frozenset((place, "$-" if tile[0] == "$" else tile) for place, tile in game.tiles.items())
        self.mines = sorted(place for place, tile in game.tiles.items() if tile[0] == "$")
        self.taverns = sorted(place for place, tile in game.tiles.items() if tile == "[]")

    def away(self, start: Place, end: Place) -> int:
        """Return the moves from `start` (a mine, a tavern or a hero) to a hero, or to a square of air."""
        return _walk(self._board, start).get(end, AWAY)

    def tavern(self, place: Place) -> tuple[int, Place | None]:
        """Return the number of moves to the nearest tavern, and its place. Of equally near taverns, the first one counts."""
        return min(((self.away(tavern, place), tavern) for tavern in self.taverns), default=(AWAY, None))

    def step(self, place: Place, goals: list[Place]) -> int:
        """Return the first direction of a shortest way to the nearest of `goals`, 0 if there is no way."""
        far = min((self.away(one, place) for one in goals), default=AWAY)
        for number, way in enumerate(_WAYS, 1):
            there = _next(place, way)
            nearer = min((self.away(one, there) for one in goals), default=AWAY) < far
            if nearer and (self.game.tiles.get(there) == "  " or there in goals):
                return number
        return 0


def wins(striker: int, other: int) -> bool:
    """Return whether the hero that strikes first wins a duel: 20 life per blow, and 1 for thirst after an own ply."""
    lives, turn = [striker, other], 0
    while True:
        lives[1 - turn] -= 20
        if lives[1 - turn] <= 0:
            return turn == 0
        lives[turn] = max(1, lives[turn] - 1)
        turn = 1 - turn
