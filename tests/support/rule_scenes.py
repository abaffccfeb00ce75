"""Small scenes that show the rules: boards, moves, and what changes. docs/rules.md shows each as two pictures and a caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.board import parse
from sim.game import EAST, NORTH, SOUTH, STAY, WEST
from vindibot.games import GameHistory, Player
from vindibot.viewer import Bundle, StateWriter, empty_bundle, result_of

NAMES = ("red", "blue", "green", "orange")
_WORDS = {STAY: "Stay", NORTH: "North", SOUTH: "South", EAST: "East", WEST: "West"}


@dataclass(frozen=True)
class Scene:
    """A board as `sim.board.parse` reads it, and the moves of the plies that follow."""

    name: str
    board: str
    moves: Sequence[int] = ()

    def history(self) -> GameHistory:
        """Return the scene as a game."""
        history = GameHistory(self.name, [Player(name) for name in NAMES], first=parse(self.board))
        history.play_all(self.moves)
        return history

    def bundle(self) -> Bundle:
        """Return the scene as the data of a viewer's page."""
        history = self.history()
        writer = StateWriter(history.first)
        plies = [writer.ply(ply) for ply in history]
        return empty_bundle(history, title=self.name, source="record") | {"plies": plies} | result_of(history)

    def caption(self) -> str:
        """Return the moves, and life, gold and mines of each hero on the board before and after them."""
        history = self.history()
        first, last = history.first["hero"][0], history.last["hero"][0]
        moves = ", ".join(f"{NAMES[ply.mover]} moves {_WORDS[int(ply.move or 0)]}" for ply in history)
        changes = [
            f"{NAMES[hero]}: {_numbers(first[hero])} → {_numbers(last[hero])}"
            for hero in range(4)
            if first[hero]["pos"] != 0 and _numbers(first[hero]) != _numbers(last[hero])
        ]
        return f"{moves}. Life, gold, mines of {'; '.join(changes)}"


def _numbers(hero: np.void) -> str:
    return f"{hero['life']}, {hero['gold']}, {hero['mines']}"


SCENES = [
    Scene(
        "pieces",
        """
        |############|
        |@1  []  $-@2|
        |  $1        |
        |    $2  ##  |
        |@4  $4  []@3|
        |############|
        """,
    ),
    Scene("mine", "|########|\n|@1$-    |\n|  ##    |\n|    ##@2|", [EAST]),
    Scene("tavern", "|########|\n|@1[]    |\n|  ##    |\n|$1  ##@2|\n@1 life 40 gold 5", [EAST]),
    Scene("goblin", "|########|\n|  @1$2  |\n|  ##  @2|\n|$1  ##  |\n@1 life 20 gold 5 spawn 2,0", [EAST]),
    Scene("blow", "|########|\n|@1  @2  |\n|  ##    |\n|    ##  |", [EAST]),
    Scene("kill", "|########|\n|@1  @2  |\n|$2##    |\n|$2  ##  |\n@2 life 15 spawn 3,3", [EAST]),
    Scene("respawn", "|########|\n|@1  @2$3|\n|$2##    |\n|$2  ##@3|\n@2 life 15 spawn 3,3\n@3 spawn 2,3", [EAST]),
]
