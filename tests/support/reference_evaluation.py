"""The evaluation and the policy once more, as plainly as can be: the second opinion that the kernels are compared with.

No tables, no padded board: `reference.Reference` is the game, distances are walked anew for every question. Slow, and meant to be
read beside the descriptions in `behaviours.common.evaluation` and `behaviours.common.policy`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from math import exp

from behaviours.common.evaluation import NetWorthWeights, Weights
from tests.support.reference import STEPS, Hero, Reference

Place = tuple[int, int]

#: Fields of the weights that belong to the estates: what is left when all others are 0.
ESTATE = set(NetWorthWeights.model_fields)
#: What cannot be reached is as far as this.
AWAY = 255
#: The directions in the order of their numbers.
_WAYS = ("North", "South", "East", "West")


def _next(place: Place, way: str) -> Place:
    return place[0] + STEPS[way][0], place[1] + STEPS[way][1]


@lru_cache(maxsize=4096)
def _walk(board: frozenset[tuple[Place, str]], start: Place) -> dict[Place, int]:
    """Moves from `start` to every square that can be reached: over air, ending at a tavern or a mine at the latest."""
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
    """Weights with which the scores of the four heroes add up to nothing: estates alone count."""
    fields = Weights.model_json_schema()["properties"]
    off = {name: 0 for name in fields if name not in ESTATE and fields[name]["minimum"] == 0}
    return Weights(**{**off, "rivals": 1, "leader": 0})


class Ground:
    """Where things are in a game, and how far from each other."""

    def __init__(self, game: Reference) -> None:
        self.game = game
        self._board = frozenset((place, "$-" if tile[0] == "$" else tile) for place, tile in game.tiles.items())
        self.mines = sorted(place for place, tile in game.tiles.items() if tile[0] == "$")
        self.taverns = sorted(place for place, tile in game.tiles.items() if tile == "[]")

    def away(self, start: Place, end: Place) -> int:
        """Moves from a thing to a hero or from a hero to a hero: `start` is where the walk is begun."""
        return _walk(self._board, start).get(end, AWAY)

    def tavern(self, place: Place) -> tuple[int, Place | None]:
        """Moves to the nearest tavern, and which one; the first of equally near ones."""
        return min(((self.away(tavern, place), tavern) for tavern in self.taverns), default=(AWAY, None))

    def step(self, place: Place, goals: list[Place]) -> int:
        """The first direction of a shortest way to the nearest of `goals`, 0 where there is none."""
        far = min((self.away(one, place) for one in goals), default=AWAY)
        for number, way in enumerate(_WAYS, 1):
            there = _next(place, way)
            nearer = min((self.away(one, there) for one in goals), default=AWAY) < far
            if nearer and (self.game.tiles.get(there) == "  " or there in goals):
                return number
        return 0


def present(game: Reference) -> list[int]:
    """Who is on the board."""
    return [hero for hero in range(4) if game.heroes[hero].pos in game.tiles]


def _plies_left(game: Reference, hero: int) -> int:
    """Plies that a hero still plays."""
    return len(range(game.turn + (hero - game.turn) % 4, game.max_turns, 4))


def wins(striker: int, other: int) -> bool:
    """Whether the one who strikes first wins a duel: twenty a blow, and one for thirst after a ply of one's own."""
    lives, turn = [striker, other], 0
    while True:
        lives[1 - turn] -= 20
        if lives[1 - turn] <= 0:
            return turn == 0
        lives[turn] = max(1, lives[turn] - 1)
        turn = 1 - turn


class Evaluation:
    """What positions are worth by some weights, in gold, not rounded."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights

    def _kept(self, plies: int) -> float:
        """Gold that one mine still brings in so many plies of its owner."""
        return self.weights.keep * (1 - exp(-min(plies, 512) / self.weights.keep))

    def _pull(self, away: int) -> float:
        return 0.0 if away >= AWAY else self.weights.step_discount**away

    def _life(self, plies: int, mines: int, life: int) -> float:
        """What mines and life are worth together."""
        weights = self.weights
        vigour = weights.life * (1 - exp(-life / weights.life_curve)) / (1 - exp(-100 / weights.life_curve))
        safe = 1 - weights.frailty * exp(-life / weights.frail)
        return mines * self._kept(plies) * safe + vigour * min(1, plies / weights.life_season)

    def estate(self, game: Reference, hero: int) -> float:
        """Gold, what mines will bring, and what life is worth."""
        who = game.heroes[hero]
        return who.gold + self._life(_plies_left(game, hero), game.mines(hero), who.life)

    def score(self, game: Reference, me: int, dead_ends: Mapping[Place, int]) -> float:
        """The score of a hero; `dead_ends` are the squares in dead ends with the moves to the mouth (`sim.structure`)."""
        score = self.estate(game, me)
        others = [self.estate(game, hero) for hero in present(game) if hero != me]
        if others:
            score -= self.weights.rivals * sum(others) / len(others) + self.weights.leader * max(others)
        ground = Ground(game)
        return score + self._places(ground, me) + self._fights(ground, me, dead_ends.get(game.heroes[me].pos, 0))

    def _places(self, ground: Ground, me: int) -> float:
        """Mines and taverns: what is promised and what may be lost."""
        game, weights, who = ground.game, self.weights, ground.game.heroes[me]
        to_tavern, tavern = ground.tavern(who.pos)
        here = there = loss = 0.0
        nearest = AWAY
        for mine in ground.mines:
            away = ground.away(mine, who.pos)
            rival = min((ground.away(mine, game.heroes[hero].pos) for hero in present(game) if hero != me), default=AWAY)
            if game.tiles[mine] == f"${me + 1}":
                loss += self._pull(rival) if rival < away else 0
                continue
            nearest = min(nearest, away)
            share = weights.contested if rival < away else 1
            here += share * self._pull(away)
            there += share * (0 if tavern is None else self._pull(ground.away(mine, tavern)))
        able = min(1.0, max(0.0, (who.life - nearest - 20) / (weights.stamina - 20)))
        promise, drink = able * here, 0.0
        plies, mines = _plies_left(game, me), game.mines(me)
        if who.gold >= 2 or mines:
            near = self._pull(to_tavern)
            promise += (1 - able) * near * there
            drink = near * (self._life(plies, mines, min(100, who.life + 50)) - self._life(plies, mines, who.life))
        return self._kept(plies) * (weights.reach * promise - weights.loss * loss) + weights.tavern * drink

    def _fights(self, ground: Ground, me: int, dead_end: int) -> float:
        """Enemies one or two moves away, dead ends (this one is so deep), and other heroes' spawns."""
        game, weights, who = ground.game, self.weights, ground.game.heroes[me]
        plies = _plies_left(game, me)
        at_stake, season = self._kept(plies), min(1, plies / weights.life_season)
        score = 0.0
        for enemy in range(4):
            other = game.heroes[enemy]
            if enemy == me:
                continue
            if who.pos == other.spawn:
                score -= weights.spawn * season
            away = ground.away(who.pos, other.pos)
            if away > 2:
                score -= weights.dead_end * season * dead_end * (away < 6)
                continue
            first = (me - game.turn) % 4 < (enemy - game.turn) % 4
            if self._wins(ground, who, other, first=first):
                score += weights.prey * at_stake * game.mines(enemy)
            elif self._loses(ground, who, other, first=first):
                score -= weights.danger * at_stake * (game.mines(me) + (not first))
        return score

    def _wins(self, ground: Ground, who: Hero, other: Hero, *, first: bool) -> bool:
        """Whether we win against an enemy beside us, or nearly: a tavern beside him saves him."""
        tavern = ground.tavern(other.pos)[0] <= 1
        if first:
            return wins(who.life, other.life) and (not tavern or other.gold < 2 or other.life <= 20)
        return not wins(other.life, who.life) and not tavern

    def _loses(self, ground: Ground, who: Hero, other: Hero, *, first: bool) -> bool:
        """Whether we lose against him: a tavern beside us saves us."""
        tavern = ground.tavern(who.pos)[0] <= 1
        if first:
            return not wins(who.life, other.life) and not tavern
        return wins(other.life, who.life) and (not tavern or who.gold < 2 or who.life <= 20)


def policy(game: Reference, hero: int) -> int:
    """The move of a hero whose turn it is, as a direction 0..4."""
    who, ground = game.heroes[hero], Ground(game)
    if who.crashed:
        return 0
    beside = [other for other in game.heroes if other.pos in {_next(who.pos, way) for way in _WAYS}]
    pays = who.gold >= 2
    far, _ = ground.tavern(who.pos)
    to_tavern = ground.step(who.pos, ground.taverns)
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
    mines = [(ground.away(mine, who.pos), mine) for mine in ground.mines if game.tiles[mine] != f"${hero + 1}"]
    away, mine = min(mines, default=(AWAY, None))
    if away < AWAY and mine is not None and who.life > 28 + away:
        return ground.step(who.pos, [mine])
    if far < AWAY and (far > 1 or (pays and who.life <= 80)):
        return to_tavern
    return 0
