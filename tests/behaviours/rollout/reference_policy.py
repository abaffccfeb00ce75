"""Reference implementation of the rollout policy (`behaviours.rollout.policy`), slow and plain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from behaviours.rollout.policy import PolicyParams
from tests.support.reference import STEPS, Reference
from tests.support.reference_places import AWAY, Places, wins

Place = tuple[int, int]
_WAYS = ("Stay", "North", "South", "East", "West")


def _next(place: Place, way: str) -> Place:
    return (place[0] + STEPS[way][0], place[1] + STEPS[way][1]) if way in STEPS else place


class ReferencePolicy:
    """One decision of `hero` by `params` with a goal: ("mine", place), ("tavern",), ("hero", index) or None.

    `dead_ends` has the moves to the mouth by square of a dead end (`sim.maps`).
    """

    def __init__(
        self, game: Reference, hero: int, params: PolicyParams, goal: tuple[Any, ...] | None, dead_ends: Mapping[Place, int]
    ) -> None:
        self.game, self.hero, self.params, self.goal, self.dead_ends = game, hero, params, goal, dead_ends
        self.places, self.who = Places(game), game.heroes[hero]
        self.enemies = [other for other in range(4) if other != hero]
        self.enemies.sort(key=lambda other: (other - hero) % 4)
        self.pays = self.who.gold >= 2
        self.tavern = self.places.tavern(self.who.pos)[0]
        self.to_tavern = self.places.step(self.who.pos, self.places.taverns)

    def _away(self, enemy: int, place: Place | None = None) -> int:
        return self.places.away(place or self.who.pos, self.game.heroes[enemy].pos)

    def _guarded(self, enemy: int) -> bool:
        other = self.game.heroes[enemy]
        return not other.crashed and other.gold >= 2 and self.places.tavern(other.pos)[0] == 1

    def _prey(self) -> tuple[int | None, int]:
        """Return the prey and its distance. A prey within two moves hides those farther away."""
        best, prey, far = 0, None, AWAY
        for enemy in self.enemies:
            other, away, mines = self.game.heroes[enemy], self._away(enemy), self.game.mines(enemy)
            if away <= 2:
                takes = other.life <= 20 or (wins(self.who.life, other.life) and not self._guarded(enemy))
                gain = 4 * mines + 3 - away if takes and (mines or away == 1) else 0
            elif away <= self.params.hunt and prey is None and not self._guarded(enemy):
                gain = mines if mines >= self.params.greed and self.who.life >= other.life + self.params.margin + away else 0
            else:
                gain = 0
            if gain > best:
                best, prey, far = gain, enemy, away
        return prey, far

    def move(self) -> int:
        """Return the move, 0..4."""
        who, params = self.who, self.params
        if who.crashed:
            return 0
        beside = [enemy for enemy in self.enemies if self._away(enemy) == 1]
        beside_tavern = self.pays and self.tavern == 1
        if any(self.game.heroes[enemy].life <= 20 for enemy in beside):
            return self.to_tavern if beside_tavern and who.life <= 70 else 0
        awake = [enemy for enemy in beside if not self.game.heroes[enemy].crashed]
        prey, far = self._prey()
        if awake:
            if beside_tavern and who.life <= 80:
                return self.to_tavern
            if len(awake) == 1 and far == 1:
                return 0
            if len(awake) > 1 or not wins(who.life, self.game.heroes[awake[0]].life):
                if self.pays and self.tavern <= 3 and who.life > 20 * (self.tavern - 1):
                    return self.to_tavern
                if self.goal is None:
                    return 0
        if self.goal is None and beside_tavern and who.life <= params.drink:
            return self.to_tavern
        if self.goal is None and params.shy and not beside_tavern and (dodge := self._dodge()) is not None:
            return dodge
        want = self._target(prey) if self.goal is None else self._way_to(self.goal)
        near = [enemy for enemy in self.enemies if self._away(enemy) <= 4 and not self.game.heroes[enemy].crashed]
        return self._careful(want) if near and params.fear else want

    def _dodge(self) -> int | None:
        feared = [enemy for enemy in self.enemies if wins(self.game.heroes[enemy].life, self.who.life)]
        feared = [enemy for enemy in feared if not self.game.heroes[enemy].crashed]
        if min((self._away(enemy) for enemy in feared), default=AWAY) > self.params.shy:
            return None
        scores = []
        for number, way in enumerate(_WAYS):
            place = _next(self.who.pos, way)
            if number and not (self.game.tiles.get(place) == "  " and self.game.hero_at(place) is None):
                continue
            nearest = min(self.params.shy + 1, *(self._away(enemy, place) for enemy in feared))
            score = 8 * nearest - min(7, self.places.tavern(place)[0]) - 12 * min(2, self.dead_ends.get(place, 0))
            scores.append((score, -number))
        return -max(scores)[1]

    def _way_to(self, goal: tuple[Any, ...]) -> int:
        if goal[0] == "mine":
            return self.places.step(self.who.pos, [goal[1]])
        return self.to_tavern if goal[0] == "tavern" else self._chase(goal[1])

    def _chase(self, enemy: int) -> int:
        there = self.game.heroes[enemy].pos
        ways = []
        for number in range(1, 5):
            place = _next(self.who.pos, _WAYS[number])
            free = self.game.tiles.get(place) == "  " and self.game.hero_at(place) is None
            if place == there or free:
                ways.append((self._away(enemy, place), number))
        away, number = min(ways, default=(AWAY, 0))
        return number if away < AWAY else 0

    def _target(self, prey: int | None) -> int:
        if prey is not None:
            return self._chase(prey)
        who, params, places = self.who, self.params, self.places
        mines = [(places.away(mine, who.pos), mine) for mine in places.mines if self.game.tiles[mine] != f"${self.hero + 1}"]
        away, mine = min(mines, default=(AWAY, None))
        thirsty = self.pays and who.life <= params.thirst and self.tavern < 5
        if away < AWAY and mine is not None and who.life - away >= 20 + params.reserve and not thirsty:
            return places.step(who.pos, [mine])
        if self.tavern < AWAY and (self.tavern > 1 or (self.pays and who.life <= 80)):
            return self.to_tavern
        return 0

    def _careful(self, want: int) -> int:
        costs = []
        for number, way in enumerate(_WAYS):
            target, who = _next(self.who.pos, way), self.who
            tile = self.game.tiles.get(target, "##")
            place, life = who.pos, who.life
            if way == "Stay" or (tile == "  " and self.game.hero_at(target) is None):
                place = target
            elif tile == "[]" and self.pays:
                life = min(100, life + 50)
            elif tile[0] == "$" and tile != f"${self.hero + 1}" and number == want:
                life -= 20
            else:
                continue
            cost = 16 * self._danger(place, life)
            if number != want:
                cost += 4
                if self.params.freeze:
                    cost -= 3 * (number == 0)
                elif self.places.tavern(place)[0] < self.tavern or life > who.life:
                    cost -= 2
            costs.append((cost, number))
        return min(costs)[1]

    def _danger(self, place: Place, life: int) -> int:
        danger = 0
        for enemy in self.enemies:
            other, away = self.game.heroes[enemy], self._away(enemy, place)
            if other.crashed or away > 2:
                continue
            enemy_life = other.life - 20 * (away == 1)
            if enemy_life > 0 and ((self.params.fear == 2 and away == 2) or wins(enemy_life, max(1, life - 1))):
                danger += 3 - away
        if danger and life > 21 and self.pays and self.places.tavern(place)[0] == 1:
            danger -= 1
        return danger
