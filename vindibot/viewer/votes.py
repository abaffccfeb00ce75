"""The votes of a bot's turns, in the form of a bundle (docs/viewer-format.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from behaviours.base import SearchInfo
from behaviours.common.combat_map import combat_map
from sim.game import Games, copy_of
from sim.rules import step
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.games.files.recording import Header
from vindibot.viewer.states import squares_of

#: Number of significant digits of votes and milliseconds.
_DIGITS = 6
_LETTERS = ".NSEW"


def rounded(value: float | None) -> float | int | None:
    """Return a number rounded to `_DIGITS` significant digits, as an int if it is whole. Return None for None, NaN and
    infinity."""
    if value is None or not np.isfinite(value):
        return None
    number = float(f"{value:.{_DIGITS}g}")
    return int(number) if number.is_integer() else number


class VotesWriter:
    """A writer of the turns of one bot. `header` is the header of the bot's recording."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.me = header.hero - 1
        combat = next((trait for trait in header.traits if trait.use == "combat"), None)
        # Use the same kind of combat map as the bot's combat trait. For a bot without this trait, use the map with duels, which
        # looks further ahead.
        self._duel = bool(combat.parameters.get("duel", False)) if combat is not None else True

    def head(self) -> dict[str, Any]:
        """Return the votes of a bundle before the first turn: the bot, its traits and an empty list of turns."""
        traits = [trait.model_dump(mode="json") for trait in self.header.traits]
        return {"bot": self.header.bot, "traits": traits, "turns": []}

    def turn(self, ply: int, games: Games, ballot: Ballot) -> dict[str, Any]:
        """Return one turn of the bot in the form of a bundle: its votes and its move. `games` is the state of the turn, `ply` the
        number of this state."""
        at = squares_of(games["size"].item(0))
        return {
            "ply": ply,
            "turn": games["turn"].item(0),
            "move": ballot.direction,
            "votes": [self._vote(entry, games, at) for entry in ballot.entries],
            "sums": [rounded(value) for value in ballot.sums],
            "candidates": list(ballot.candidates),
            "left_ms": rounded(ballot.margin_ms),
            "fallback": ballot.fallback,
            "combat": self._combat(games, at),
        }

    def _vote(self, entry: BallotEntry, games: Games, at: Callable[[int], int]) -> dict[str, Any]:
        votes = None if entry.votes is None else [rounded(vote) for vote in entry.votes]
        vote: dict[str, Any] = {"trait": entry.label, "weight": rounded(entry.weight), "votes": votes}
        vote |= {"ms": rounded(entry.ms), "status": entry.status}
        if entry.note:
            vote["note"] = entry.note
        return vote if entry.info is None else vote | _info(entry.info, games, at)

    def _combat(self, games: Games, at: Callable[[int], int]) -> list[float | int | None]:
        values = combat_map(games, self.me, duel=self._duel)
        pairs: list[float | int | None] = []
        for square in np.flatnonzero(~np.isnan(values)).tolist():
            pairs += [at(square), rounded(values.item(square))]
        return pairs


def _info(info: SearchInfo, games: Games, at: Callable[[int], int]) -> dict[str, Any]:
    known: dict[str, Any] = {"depth": info.depth, "score": rounded(info.score), "nodes": info.nodes}
    if info.pv:
        known["pv"] = "".join(_LETTERS[direction] for direction in info.pv)
        known["path"] = _path(info, games, at)
    if info.goal is not None:
        known["goal"] = at(info.goal)
    return {key: value for key, value in known.items() if value is not None}


def _path(info: SearchInfo, games: Games, at: Callable[[int], int]) -> list[int]:
    """Return the squares of the principal variation (`info.pv`), the moves that a search expects.

    There is one square per ply: the square where the moving hero stands after the ply. The list ends before the first ply that
    cannot be played.
    """
    games = copy_of(games)
    path: list[int] = []
    for direction in info.pv:
        mover = games["turn"].item(0) % 4
        if not step(games, 0, direction):
            break
        path.append(at(games["hero"]["pos"].item(mover)))
    return path
