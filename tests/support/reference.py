"""A second, simple implementation of the rules, with which tests compare the kernels.

Squares are (row, column), tiles are the two characters of the protocol. It is slow. Read it beside the rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sim.board import TILE_NAMES
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
from sim.game import CRASH, DIRECTIONS, NO_DIRECTION, TILE_BITS, Games, row_column, square

STEPS = {"Stay": (0, 0), "North": (-1, 0), "South": (1, 0), "East": (0, 1), "West": (0, -1)}
STATUS = ("running", "AllCrashed", "TurnMax")
#: An event: kind, hero, other, square, to, amount, as in `sim.events`.
Event = tuple[int, int, int, int, int, int]


@dataclass
class Hero:
    pos: tuple[int, int]
    spawn: tuple[int, int]
    life: int
    gold: int
    last: str | None
    crashed: bool
    born: int = -1


@dataclass
class Reference:
    """A game by the second implementation. `events` are the events of the last ply."""

    tiles: dict[tuple[int, int], str]
    heroes: list[Hero]
    turn: int
    max_turns: int
    training: bool
    status: str
    mover: int = 0
    events: list[Event] = field(default_factory=list)

    def note(
        self,
        kind: int,
        hero: int,
        other: int = NO_HERO,
        *,
        at: tuple[int, int] | None = None,
        to: tuple[int, int] | None = None,
        amount: int = 0,
    ) -> None:
        self.events.append((kind, hero, other, square(*at) if at else 0, square(*to) if to else 0, amount))

    def hero_at(self, pos: tuple[int, int]) -> int | None:
        return next((index for index, hero in enumerate(self.heroes) if hero.pos == pos), None)

    def mines(self, index: int) -> int:
        return sum(tile == f"${index + 1}" for tile in self.tiles.values())

    def give_mines(self, loser: int, heir: int) -> None:
        if amount := self.mines(loser):
            self.note(INHERITED, loser, heir, amount=amount)
        for pos, tile in self.tiles.items():
            if tile == f"${loser + 1}":
                self.tiles[pos] = "$-" if heir == NO_HERO else f"${heir + 1}"

    def respawn(self, index: int) -> None:
        hero = self.heroes[index]
        there = self.hero_at(hero.spawn)
        self.note(RESPAWNED, index, at=hero.pos, to=hero.spawn)
        hero.life, hero.pos, hero.born = 100, hero.spawn, self.turn
        if there is not None and there != index:
            self.note(KILLED_ON_SPAWN, index, there)
            self.give_mines(there, index)
            self.respawn(there)

    def reach(self, move: str) -> None:
        me = self.heroes[self.mover]
        target = (me.pos[0] + STEPS[move][0], me.pos[1] + STEPS[move][1])
        tile = self.tiles.get(target, "##")
        if self.hero_at(target) is not None:
            return
        if tile == "  ":
            self.note(MOVED, self.mover, at=me.pos, to=target)
            me.pos = target
        elif tile == "[]" and me.gold >= 2:
            self.note(DRANK, self.mover, at=target, amount=min(50, 100 - me.life))
            me.gold -= 2
            me.life = min(100, me.life + 50)
        elif tile[0] == "$" and tile != f"${self.mover + 1}":
            me.life = max(0, me.life - 20)
            if me.life > 0:
                owner = int(tile[1]) - 1 if tile[1] in "1234" else NO_HERO
                self.note(TOOK_MINE, self.mover, owner, at=target)
                self.tiles[target] = f"${self.mover + 1}"
            else:
                self.note(DIED_IN_MINE, self.mover, at=target)
                self.give_mines(self.mover, NO_HERO)
                self.respawn(self.mover)

    def fight(self) -> None:
        me = self.heroes[self.mover]
        around = [(me.pos[0] + STEPS[side][0], me.pos[1] + STEPS[side][1]) for side in ("North", "East", "South", "West")]
        for enemy in [self.hero_at(pos) for pos in around]:
            if enemy is None or me.born == self.turn or self.heroes[enemy].born == self.turn:
                continue
            self.note(STRUCK, self.mover, enemy)
            self.heroes[enemy].life = max(0, self.heroes[enemy].life - 20)
            if self.heroes[enemy].life == 0:
                self.note(KILLED, self.mover, enemy)
                self.give_mines(enemy, self.mover)
                self.respawn(enemy)

    def play(self, move: int) -> None:
        if self.status != "running":
            return
        self.mover, self.events = self.turn % 4, []
        me = self.heroes[self.mover]
        if move == CRASH:
            self.note(CRASHED, self.mover)
            me.crashed = True
            if self.training or all(hero.crashed for hero in self.heroes):
                self.status = "AllCrashed"
        else:
            me.last = DIRECTIONS[move]
            self.reach(DIRECTIONS[move])
            self.fight()
        me.life = max(1, me.life - 1)
        me.gold += self.mines(self.mover)
        if self.status == "running":
            self.turn += 1
            if self.turn >= self.max_turns:
                self.status = "TurnMax"

    def snapshot(self) -> Any:
        """Return the whole state in a form that can be compared with the state of a kernel."""
        heroes = [
            (hero.pos, hero.spawn, hero.life, hero.gold, self.mines(index), hero.last, hero.crashed)
            for index, hero in enumerate(self.heroes)
        ]
        return self.turn, self.status, heroes, self.tiles


def reference(games: Games) -> Reference:
    """Return a copy of ``games[0]`` for the second implementation."""
    game = games[0]
    size = int(game["size"])
    cells = game["cell"].reshape(32, 32)[1 : size + 1, 1 : size + 1] & TILE_BITS
    tiles = {(row, column): TILE_NAMES[cells[row, column]] for row in range(size) for column in range(size)}
    heroes = [
        Hero(
            row_column(int(hero["pos"])),
            row_column(int(hero["spawn"])),
            int(hero["life"]),
            int(hero["gold"]),
            None if hero["last_dir"] == NO_DIRECTION else DIRECTIONS[hero["last_dir"]],
            bool(hero["crashed"]),
        )
        for hero in game["hero"]
    ]
    status = STATUS[int(game["status"])]
    return Reference(tiles, heroes, int(game["turn"]), int(game["max_turns"]), bool(game["training"]), status)


def snapshot(games: Games) -> Any:
    """Return the whole state of ``games[0]`` in the form of `Reference.snapshot`. The numbers of mines come from the record."""
    turn, status, heroes, tiles = reference(games).snapshot()
    counted = [int(hero["mines"]) for hero in games[0]["hero"]]
    return turn, status, [(*hero[:4], count, *hero[5:]) for hero, count in zip(heroes, counted, strict=True)], tiles
