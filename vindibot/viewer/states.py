"""States and plies of a game in the form of a bundle (docs/viewer-format.md): what a page shows, without any rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from sim import events
from sim.game import AIR, MINE, RUNNING, STRIDE, TAVERN, TILE_BITS, WALL, Games
from sim.maps import map_of
from vindibot.games import GameHistory, Ply, ranks, reason_of

_TILES = {AIR: ".", WALL: "#", TAVERN: "T"}
#: The kinds of events after which mines have other owners.
_NEW_OWNERS = {events.TOOK_MINE, events.INHERITED}


@cache
def squares_of(size: int) -> Callable[[int], int]:
    """Turns a square of `sim.game` into one of a bundle, for boards of this size; -1 for a hero that is not on the board."""
    table = [
        (square // STRIDE - 1) * size + square % STRIDE - 1
        if 0 < square // STRIDE <= size and 0 < square % STRIDE <= size
        else -1
        for square in range(STRIDE * STRIDE)
    ]
    return table.__getitem__


def _board(games: Games) -> Any:
    size = games["size"].item(0)
    return (games["cell"][0] & TILE_BITS).reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1].ravel()


def _hero(record: tuple[Any, ...], at: Callable[[int], int]) -> list[int]:
    gold, pos, life, mines, _, _, crashed, _ = record
    return [at(pos), life, gold, mines, crashed]


class StateWriter:
    """Writes the states and plies of one game. `first` is its first state (`sim.game.Game`)."""

    def __init__(self, first: Games) -> None:
        self.first = first
        self.size: int = first["size"].item(0)
        self.at = squares_of(self.size)

    def start(self, gap: bool = False) -> dict[str, Any]:
        """The first state."""
        heroes = [_hero(hero, self.at) for hero in self.first["hero"][0].tolist()]
        return {"turn": self.first["turn"].item(0), "heroes": heroes, "gap": gap}

    def tiles(self) -> str:
        """The board of the first state."""
        return "".join(_TILES.get(tile) or _owner_letter(tile) for tile in _board(self.first).tolist())

    def spawns(self) -> list[int]:
        """Where the heroes spawn."""
        return [self.at(spawn) for spawn in self.first["hero"]["spawn"][0].tolist()]

    def structure(self) -> dict[str, list[int]]:
        """What never changes about the map."""
        shape = map_of(self.first)
        return {
            "dead_ends": [self.at(square) for square in np.flatnonzero(shape.dead_end).tolist()],
            "chokes": [self.at(square) for square in np.flatnonzero(shape.choke).tolist()],
        }

    def ply(self, ply: Ply) -> dict[str, Any]:
        """One ply: what happened, and what it changed."""
        written: dict[str, Any] = {"t": ply.turn}
        written |= {"gap": True} if ply.gap else {"h": ply.mover, "o": ply.move}
        happened = ply.events.tolist()
        changed = zip(ply.before["hero"][0].tolist(), ply.after["hero"][0].tolist(), strict=True)
        heroes = [[hero, *_hero(new, self.at)] for hero, (old, new) in enumerate(changed) if _shown(old) != _shown(new)]
        new_owners = ply.gap or any(event[0] in _NEW_OWNERS for event in happened)
        mines = self._mines(ply.before, ply.after) if new_owners else []
        parts = {"c": heroes, "m": mines, "e": [self._event(event) for event in happened if event[0] != events.MOVED]}
        return written | {key: part for key, part in parts.items() if part}

    def _mines(self, before: Games, after: Games) -> list[list[int | None]]:
        old, new = _board(before), _board(after)
        changed = np.flatnonzero((old != new) & (new >= MINE)).tolist()
        return [[square, owner_of(new.item(square))] for square in changed]

    def _event(self, event: tuple[int, ...]) -> list[Any]:
        kind, hero, other, _, square, to, amount = event
        who = None if other == events.NO_HERO else other
        match kind:
            case events.TOOK_MINE:
                return ["mine", hero, self.at(square), who]
            case events.DRANK:
                return ["beer", hero, self.at(square), amount]
            case events.STRUCK:
                return ["blow", hero, other]
            case events.KILLED | events.KILLED_ON_SPAWN:
                return ["kill", hero, other, "blow" if kind == events.KILLED else "spawn"]
            case events.DIED_IN_MINE:
                return ["death", hero, self.at(square)]
            case events.INHERITED:
                return ["heir", hero, who, amount]
            case events.RESPAWNED:
                return ["respawn", hero, self.at(square), self.at(to)]
            case _:
                return ["crash", hero]


def _shown(hero: tuple[Any, ...]) -> tuple[Any, ...]:
    """What of a hero's record is written: neither its spawn square nor its last direction."""
    return (*hero[:4], hero[6])


def owner_of(tile: int) -> int | None:
    """The hero 0..3 who owns the mine with this tile code; None for nobody, and for owners who are no heroes."""
    return tile - MINE - 1 if MINE < tile <= MINE + 4 else None


def _owner_letter(tile: int) -> str:
    owner = owner_of(tile)
    return "-" if owner is None else str(owner)


def results(games: Games) -> list[dict[str, int]]:
    """The standing, best first; equal gold shares a rank."""
    gold: list[int] = games["hero"]["gold"][0].tolist()
    rows = [{"hero": hero, "gold": gold[hero], "rank": rank} for hero, rank in enumerate(ranks(gold))]
    return sorted(rows, key=lambda row: row["rank"])


def ending_of(history: GameHistory) -> dict[str, str]:
    """How a game ended, by the rules if it is over, else as far as its history tells; a running one was interrupted."""
    status = history.last["status"].item(0)
    if status != RUNNING:
        return {"kind": reason_of(status), "message": ""}
    return {"kind": history.ending or reason_of(status), "message": history.message}
