"""States and plies of a game in the form of a bundle (docs/viewer-format.md). The page shows them without knowing the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from sim import events
from sim.game import AIR, MINE, RUNNING, STRIDE, TAVERN, TILE_BITS, WALL, Games
from sim.maps import map_of
from vindibot.games.history import GameHistory, Ply
from vindibot.games.notes import GameNote
from vindibot.games.outcome import ranks, reason_of

_TILES = {AIR: ".", WALL: "#", TAVERN: "T"}
#: The kinds of events that change the owners of mines.
_NEW_OWNERS = {events.TOOK_MINE, events.INHERITED}


@cache
def squares_of(size: int) -> Callable[[int], int]:
    """Return a function that converts a square of `sim.game` to the number of this square in a bundle, for boards of this size.

    The function returns -1 for a square that is not on the board.
    """
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
    """A writer of the states and plies of one game. `first` is the game's first state (`sim.game.Game`)."""

    def __init__(self, first: Games) -> None:
        self.first = first
        self.size: int = first["size"].item(0)
        self.at = squares_of(self.size)

    def start(self, gap: bool = False) -> dict[str, Any]:
        """Return the first state in the form of a bundle. `gap` says whether plies before it are missing."""
        heroes = [_hero(hero, self.at) for hero in self.first["hero"][0].tolist()]
        return {"turn": self.first["turn"].item(0), "heroes": heroes, "gap": gap}

    def tiles(self) -> str:
        """Return the board of the first state as text, with one character per square."""
        return "".join(_TILES.get(tile) or _owner_letter(tile) for tile in _board(self.first).tolist())

    def spawns(self) -> list[int]:
        """Return the spawn squares of heroes 1..4."""
        return [self.at(spawn) for spawn in self.first["hero"]["spawn"][0].tolist()]

    def structure(self) -> dict[str, list[int]]:
        """Return the squares of the dead ends and of the choke points of the map, by name of the kind."""
        board = map_of(self.first)
        parts = {"dead_ends": board.dead_end, "chokes": board.choke}
        return {name: [self.at(square) for square in np.flatnonzero(mask).tolist()] for name, mask in parts.items()}

    def ply(self, ply: Ply) -> dict[str, Any]:
        """Return one ply in the form of a bundle: the move, the heroes and mines that the move changed, and the events."""
        written: dict[str, Any] = {"t": ply.turn}
        written |= {"gap": True} if ply.gap else {"h": ply.mover, "o": ply.move}
        occurred = ply.events.tolist()
        pairs = zip(ply.before["hero"][0].tolist(), ply.after["hero"][0].tolist(), strict=True)
        heroes = [[hero, *_hero(new, self.at)] for hero, (old, new) in enumerate(pairs) if _shown(old) != _shown(new)]
        new_owners = ply.gap or any(event[0] in _NEW_OWNERS for event in occurred)
        mines = self._mines(ply.before, ply.after) if new_owners else []
        parts = {"c": heroes, "m": mines, "e": [self._event(event) for event in occurred if event[0] != events.MOVED]}
        return written | {key: part for key, part in parts.items() if part}

    def notes(self, number: int, hero: int, notes: Sequence[GameNote]) -> dict[str, Any]:
        """Return what a hero (0..3) said in state `number`, in the form of a bundle."""
        said = [
            {"source": note.source, "text": note.text}
            | ({} if note.square is None else {"square": note.square[0] * self.size + note.square[1]})
            for note in notes
            if note.square is None or max(note.square) < self.size
        ]
        return {"ply": number, "hero": hero, "notes": said}

    def _mines(self, before: Games, after: Games) -> list[list[int | None]]:
        old, new = _board(before), _board(after)
        changed = np.flatnonzero((old != new) & (new >= MINE)).tolist()
        return [[square, owner_of(new.item(square))] for square in changed]

    def _event(self, event: tuple[int, ...]) -> list[Any]:
        kind, hero, other, _, square, to, amount = event
        other_or_none = None if other == events.NO_HERO else other
        match kind:
            case events.TOOK_MINE:
                return ["mine", hero, self.at(square), other_or_none]
            case events.DRANK:
                return ["beer", hero, self.at(square), amount]
            case events.STRUCK:
                return ["blow", hero, other]
            case events.KILLED | events.KILLED_ON_SPAWN:
                return ["kill", hero, other, "blow" if kind == events.KILLED else "spawn"]
            case events.DIED_IN_MINE:
                return ["death", hero, self.at(square)]
            case events.INHERITED:
                return ["heir", hero, other_or_none, amount]
            case events.RESPAWNED:
                return ["respawn", hero, self.at(square), self.at(to)]
            case _:
                return ["crash", hero]


def _shown(hero: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the fields of a hero's record that a bundle has: all but the spawn square and the last direction."""
    return (*hero[:4], hero[6])


def owner_of(tile: int) -> int | None:
    """Return the hero (0..3) that owns the mine with this tile code; None for a mine without an owner."""
    return tile - MINE - 1 if MINE < tile <= MINE + 4 else None


def _owner_letter(tile: int) -> str:
    owner = owner_of(tile)
    return "-" if owner is None else str(owner)


def result_of(history: GameHistory) -> dict[str, Any]:
    """Return the ending and the results of a game that is over.

    If the game ended by the rules, its last state gives the ending. Otherwise the history gives the ending. If the history has
    no ending, the game counts as interrupted. The results list the heroes, best first. Heroes with equal gold have the same rank.
    """
    status, gold = history.last["status"].item(0), history.last["hero"]["gold"][0].tolist()
    kind = history.ending if status == RUNNING and history.ending else reason_of(status)
    rows = [{"hero": hero, "gold": gold[hero], "rank": rank} for hero, rank in enumerate(ranks(gold))]
    return {
        "ending": {"kind": kind, "message": history.message if status == RUNNING else ""},
        "results": sorted(rows, key=lambda row: row["rank"]),
    }
