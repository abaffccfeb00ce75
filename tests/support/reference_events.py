"""Computes the events of a ply in plain Python, from the state alone. Tests compare them with those of `sim.events`.

It follows the rules step by step on its own lists of positions, lives and mines.
"""

from __future__ import annotations

from sim.events import (
    CRASHED,
    DIED_IN_MINE,
    DRANK,
    INHERITED,
    KILLED,
    KILLED_ON_SPAWN,
    MOVED,
    NO_HERO,
    RESPAWNED,
    STRUCK,
    TOOK_MINE,
)
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

#: An event: kind, hero, other, square, to, amount, as in `sim.events`.
Event = tuple[int, int, int, int, int, int]
#: The neighbours of a fighter in the order of the blows: North, East, South, West.
_AROUND = (-STRIDE, 1, STRIDE, -1)
_OFFSETS: list[int] = OFFSET.tolist()


class _Scene:
    """The heroes during one ply, between the state before it and the state after it."""

    def __init__(self, games: Games) -> None:
        heroes = games["hero"][0]
        self.pos: list[int] = heroes["pos"].tolist()
        self.life: list[int] = heroes["life"].tolist()
        self.gold: list[int] = heroes["gold"].tolist()
        self.mines: list[int] = heroes["mines"].tolist()
        self.spawn: list[int] = heroes["spawn"].tolist()
        self.born: set[int] = set()
        self.events: list[Event] = []

    def note(self, kind: int, hero: int, other: int = NO_HERO, *, square: int = 0, to: int = 0, amount: int = 0) -> None:
        self.events.append((kind, hero, other, square, to, amount))

    def at(self, square: int) -> int | None:
        """Return the hero on a square, the first one if there are two, None if there is none."""
        return self.pos.index(square) if square in self.pos else None

    def move(self, me: int, target: int, cell: int) -> None:
        """Make the mover's step: onto air, into a tavern, or into a mine."""
        if cell == 0:
            self.note(MOVED, me, square=self.pos[me], to=target)
            self.pos[me] = target
        elif cell == TAVERN:
            if self.gold[me] >= BEER_COST:
                healed = min(MAX_LIFE, self.life[me] + BEER_HEALS) - self.life[me]
                self.life[me] += healed
                self.note(DRANK, me, square=target, amount=healed)
        elif MINE <= cell <= LAST_MINE and cell != MINE + 1 + me:
            self._enter_mine(me, target, cell)

    def _enter_mine(self, me: int, square: int, cell: int) -> None:
        owner = owner_of(cell)
        if self.life[me] > MINE_COST:
            self.life[me] -= MINE_COST
            if owner is not None:
                self.mines[owner] -= 1
            self.mines[me] += 1
            self.note(TOOK_MINE, me, NO_HERO if owner is None else owner, square=square)
        else:
            self.note(DIED_IN_MINE, me, square=square)
            self._respawn(me, None)

    def fight(self, me: int) -> None:
        """Strike all heroes beside the mover. They are listed before the first blow."""
        listed = [self.at(self.pos[me] + offset) for offset in _AROUND]
        for enemy in listed:
            if enemy is None or enemy in self.born:
                continue
            if me in self.born:
                break
            self.note(STRUCK, me, enemy)
            self.life[enemy] -= BLOW
            if self.life[enemy] <= 0:
                self.note(KILLED, me, enemy)
                self._respawn(enemy, me)

    def _respawn(self, hero: int, heir: int | None) -> None:
        """Respawn a dead hero. A hero on its spawn square dies in turn."""
        while True:
            if self.mines[hero]:
                self.note(INHERITED, hero, NO_HERO if heir is None else heir, amount=self.mines[hero])
                if heir is not None:
                    self.mines[heir] += self.mines[hero]
                self.mines[hero] = 0
            there = self.at(self.spawn[hero])
            self.note(RESPAWNED, hero, square=self.pos[hero], to=self.spawn[hero])
            self.pos[hero], self.life[hero] = self.spawn[hero], MAX_LIFE
            self.born.add(hero)
            if there is None or there == hero:
                return
            self.note(KILLED_ON_SPAWN, hero, there)
            hero, heir = there, hero


def owner_of(tile: int) -> int | None:
    """Return the hero (0..3) that owns the mine with this tile code; None if there is no owner, or if it is no hero."""
    return tile - MINE - 1 if MINE < tile <= MINE + 4 else None


def reference_events(before: Games, move: int) -> list[Event]:
    """Return the events of `move` (0..4 or `sim.game.CRASH`) by the hero to move in `before`, a running `sim.game.Game`.

    The game does not change.
    """
    me = before["turn"].item(0) % 4
    scene = _Scene(before)
    if move == CRASH:
        scene.note(CRASHED, me)
        return scene.events
    target = scene.pos[me] + _OFFSETS[move]
    cell = before["cell"][0].item(target)
    # A hero on the square blocks the step, whatever tile is below it.
    if move and cell <= TILE_BITS:
        scene.move(me, target, cell)
    scene.fight(me)
    return scene.events
