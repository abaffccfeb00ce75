"""Reference implementation of the evaluation and the cheap policy, with which the tests compare the kernels.

It is slow and simple: it has no tables and no border around the board, and finds distances by walking. `reference.Reference` is
the game. Read it beside `behaviours.common.evaluation` and `behaviours.common.policy`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from math import exp

from behaviours.common.evaluation import NetWorthWeights, Weights
from tests.support.reference import STEPS, Hero, Reference

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


def present(game: Reference) -> list[int]:
    """Return the heroes on the board."""
    return [hero for hero in range(4) if game.heroes[hero].pos in game.tiles]


def _plies_left(game: Reference, hero: int) -> int:
    """Return the number of plies that a hero still plays."""
    return len(range(game.turn + (hero - game.turn) % 4, game.max_turns, 4))


def wins(striker: int, other: int) -> bool:
    """Return whether the hero that strikes first wins a duel: 20 life per blow, and 1 for thirst after an own ply."""
    lives, turn = [striker, other], 0
    while True:
        lives[1 - turn] -= 20
        if lives[1 - turn] <= 0:
            return turn == 0
        lives[turn] = max(1, lives[turn] - 1)
        turn = 1 - turn


class Evaluation:
    """Values of positions with some weights, in gold, not rounded."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights

    def _income(self, plies: int) -> float:
        """Return the gold that one mine is expected to bring in this number of its owner's plies."""
        return self.weights.keep * (1 - exp(-min(plies, 512) / self.weights.keep))

    def _pull(self, away: int) -> float:
        return 0.0 if away >= AWAY else self.weights.step_discount**away

    def _life(self, plies: int, mines: int, life: int) -> float:
        """Return the value of mines and life together."""
        weights = self.weights
        vigour = weights.life * (1 - exp(-life / weights.life_curve)) / (1 - exp(-100 / weights.life_curve))
        safe = 1 - weights.frailty * exp(-life / weights.frail)
        return mines * self._income(plies) * safe + vigour * min(1, plies / weights.life_season)

    def net_worth(self, game: Reference, hero: int) -> float:
        """Return gold, expected income of the mines, and value of the life."""
        who = game.heroes[hero]
        return who.gold + self._life(_plies_left(game, hero), game.mines(hero), who.life)

    def score(self, game: Reference, me: int, dead_ends: Mapping[Place, int]) -> float:
        """Return the score of a hero. `dead_ends` has the moves to the mouth by square of a dead end (`sim.maps`)."""
        score = self.net_worth(game, me)
        others = [self.net_worth(game, hero) for hero in present(game) if hero != me]
        if others:
            score -= self.weights.rivals * sum(others) / len(others) + self.weights.leader * max(others)
        places = Places(game)
        return score + self._places(places, me) + self._fights(places, me, dead_ends.get(game.heroes[me].pos, 0))

    def _places(self, places: Places, me: int) -> float:
        """Return the value of mines and taverns in reach, less that of mines which rivals reach first."""
        game, weights, who = places.game, self.weights, places.game.heroes[me]
        to_tavern, tavern = places.tavern(who.pos)
        here = there = loss = 0.0
        nearest = AWAY
        for mine in places.mines:
            away = places.away(mine, who.pos)
            rival = min((places.away(mine, game.heroes[hero].pos) for hero in present(game) if hero != me), default=AWAY)
            if game.tiles[mine] == f"${me + 1}":
                loss += self._pull(rival) if rival < away else 0
                continue
            nearest = min(nearest, away)
            share = weights.contested if rival < away else 1
            here += share * self._pull(away)
            there += share * (0 if tavern is None else self._pull(places.away(mine, tavern)))
        plies, mines = _plies_left(game, me), game.mines(me)
        able = min(1.0, max(0.0, (who.life - nearest - 20) / (weights.stamina - 20)))
        promise, drink = able * here, 0.0
        if who.gold >= 2 or mines:
            near = self._pull(to_tavern)
            promise += (1 - able) * near * there
            drink = near * (self._life(plies, mines, min(100, who.life + 50)) - self._life(plies, mines, who.life))
        return self._income(plies) * (weights.reach * promise - weights.loss * loss) + weights.tavern * drink

    def _fights(self, places: Places, me: int, dead_end: int) -> float:
        """Return the value of enemies one or two moves away, of a dead end `dead_end` moves deep, and of enemies' spawns."""
        game, weights, who = places.game, self.weights, places.game.heroes[me]
        plies = _plies_left(game, me)
        at_stake, season = self._income(plies), min(1, plies / weights.life_season)
        score = 0.0
        for enemy in range(4):
            other = game.heroes[enemy]
            if enemy == me:
                continue
            if who.pos == other.spawn:
                score -= weights.spawn * season
            away = places.away(who.pos, other.pos)
            if away > 2:
                score -= weights.dead_end * season * dead_end * (away < 6)
                continue
            first = (me - game.turn) % 4 < (enemy - game.turn) % 4
            if self._wins(places, who, other, first=first):
                score += weights.prey * at_stake * game.mines(enemy)
            elif self._loses(places, who, other, first=first):
                score -= weights.danger * at_stake * (game.mines(me) + (not first))
        return score

    def _wins(self, places: Places, who: Hero, other: Hero, *, first: bool) -> bool:
        """Return whether we win against an enemy at most two moves away. A tavern beside it saves it."""
        tavern = places.tavern(other.pos)[0] <= 1
        if first:
            return wins(who.life, other.life) and (not tavern or other.gold < 2 or other.life <= 20)
        return not wins(other.life, who.life) and not tavern

    def _loses(self, places: Places, who: Hero, other: Hero, *, first: bool) -> bool:
        """Return whether we lose against an enemy at most two moves away. A tavern beside us saves us."""
        tavern = places.tavern(who.pos)[0] <= 1
        if first:
            return not wins(who.life, other.life) and not tavern
        return wins(other.life, who.life) and (not tavern or who.gold < 2 or who.life <= 20)


def policy(game: Reference, hero: int) -> int:
    """Return the move (0..4) of the hero to move."""
    who, places = game.heroes[hero], Places(game)
    if who.crashed:
        return 0
    beside = [other for other in game.heroes if other.pos in {_next(who.pos, way) for way in _WAYS}]
    pays = who.gold >= 2
    far, _ = places.tavern(who.pos)
    to_tavern = places.step(who.pos, places.taverns)
    if beside:
        if min(other.life for other in beside) <= 20:
            return 0
        if pays and far == 1 and who.life <= 80:
            return to_tavern
        if who.life > max(other.life for other in beside) - 20:
            return 0
        if far < AWAY:
            return to_tavern
    if pays and who.life <= 50 and far == 1:
        return to_tavern
    mines = [(places.away(mine, who.pos), mine) for mine in places.mines if game.tiles[mine] != f"${hero + 1}"]
    away, mine = min(mines, default=(AWAY, None))
    if away < AWAY and mine is not None and who.life > 28 + away:
        return places.step(who.pos, [mine])
    if far < AWAY and (far > 1 or (pays and who.life <= 80)):
        return to_tavern
    return 0
