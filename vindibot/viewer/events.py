"""What happened in a ply: who took which mine, drank, struck, killed, died and came back, in the order of the rules.

The states before and after say what came of it; this says why, for people. It follows `sim.rules.play` step by step and
never decides anything: what a ply does is the rules' business alone.
"""

from __future__ import annotations

from typing import Any

from sim.game import (
    BEER_COST,
    BEER_HEALS,
    BLOW,
    CRASH,
    LAST_MINE,
    MAX_LIFE,
    MINE,
    MINE_COST,
    OFFSET,
    STRIDE,
    TAVERN,
    TILE_BITS,
    Games,
)

#: An event: its name, then who and where; see `docs/viewer-format.md`. Heroes are 0..3, squares those of `sim.game`.
Event = tuple[Any, ...]
#: The neighbours of a fighter in the order of the blows: North, East, South, West.
_AROUND = (-STRIDE, 1, STRIDE, -1)
_OFFSETS: list[int] = OFFSET.tolist()


class _Scene:
    """The heroes of one ply on their way from the state before it to the one after it."""

    def __init__(self, games: Games) -> None:
        heroes = games["hero"][0]
        self.pos: list[int] = heroes["pos"].tolist()
        self.life: list[int] = heroes["life"].tolist()
        self.gold: list[int] = heroes["gold"].tolist()
        self.mines: list[int] = heroes["mines"].tolist()
        self.spawn: list[int] = heroes["spawn"].tolist()
        self.born: set[int] = set()
        self.events: list[Event] = []

    def at(self, square: int) -> int | None:
        """Who stands there, the first if two do."""
        return self.pos.index(square) if square in self.pos else None

    def move(self, me: int, target: int, cell: int) -> None:
        """The mover's step: onto air, into a tavern, or into a mine."""
        if cell == 0:
            self.pos[me] = target
        elif cell == TAVERN:
            if self.gold[me] >= BEER_COST:
                healed = min(MAX_LIFE, self.life[me] + BEER_HEALS) - self.life[me]
                self.life[me] += healed
                self.events.append(("beer", me, target, healed))
        elif MINE <= cell <= LAST_MINE and cell != MINE + 1 + me:
            self._enter_mine(me, target, cell)

    def _enter_mine(self, me: int, square: int, cell: int) -> None:
        owner = owner_of(cell)
        if self.life[me] > MINE_COST:
            self.life[me] -= MINE_COST
            if owner is not None:
                self.mines[owner] -= 1
            self.mines[me] += 1
            self.events.append(("mine", me, square, owner))
        else:
            self.events.append(("death", me, square))
            self._respawn(me, None)

    def fight(self, me: int) -> None:
        """The blows on all who stand beside the mover; they are listed before the first falls."""
        listed = [self.at(self.pos[me] + offset) for offset in _AROUND]
        for enemy in listed:
            if enemy is None or enemy in self.born:
                continue
            if me in self.born:
                break
            self.events.append(("blow", me, enemy))
            self.life[enemy] -= BLOW
            if self.life[enemy] <= 0:
                self.events.append(("kill", me, enemy, "blow"))
                self._respawn(enemy, me)

    def _respawn(self, hero: int, heir: int | None) -> None:
        """A dead hero comes back, and whoever stands where he does dies in turn."""
        while True:
            if self.mines[hero]:
                self.events.append(("heir", hero, heir, self.mines[hero]))
                if heir is not None:
                    self.mines[heir] += self.mines[hero]
                self.mines[hero] = 0
            there = self.at(self.spawn[hero])
            self.events.append(("respawn", hero, self.pos[hero], self.spawn[hero]))
            self.pos[hero], self.life[hero] = self.spawn[hero], MAX_LIFE
            self.born.add(hero)
            if there is None or there == hero:
                return
            self.events.append(("kill", hero, there, "spawn"))
            hero, heir = there, hero


def owner_of(tile: int) -> int | None:
    """The hero 0..3 who owns the mine with this tile code; None for nobody, and for owners who are no heroes."""
    return tile - MINE - 1 if MINE < tile <= MINE + 4 else None


def happenings(before: Games, order: int) -> list[Event]:
    """What happens when the hero whose turn it is in `before` (an array of one record, running) is given `order` (0..4 or
    `sim.game.CRASH`). Does not change the game."""
    me = before["turn"].item(0) % 4
    if order == CRASH:
        return [("crash", me)]
    scene = _Scene(before)
    target = scene.pos[me] + _OFFSETS[order]
    cell = before["cell"][0].item(target)
    # A hero on the square is in the way, whatever is below him.
    if order and cell <= TILE_BITS:
        scene.move(me, target, cell)
    scene.fight(me)
    return scene.events
