"""Small scenes that show the rules: a board, a move, and its effects. docs/rules.md shows each scene with a caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.board import parse
from sim.game import EAST, NORTH, SOUTH, STAY, WEST
from vindibot.games.history import GameHistory
from vindibot.games.protocol import Player
from vindibot.viewer.bundle import Bundle, StateWriter, empty_bundle, result_of

#: The names of the heroes in captions.
NAMES = ("red", "blue", "green", "orange")
_WORDS = {STAY: "Stay", NORTH: "North", SOUTH: "South", EAST: "East", WEST: "West"}


@dataclass(frozen=True)
class RuleScene:
    """A board as text (see `sim.board.parse`), and the moves (0..4) of the plies that follow."""

    name: str
    board: str
    moves: Sequence[int] = ()

    def history(self) -> GameHistory:
        """Return the scene as a game."""
        history = GameHistory(self.name, [Player(name) for name in NAMES], first=parse(self.board))
        history.play_all(self.moves)
        return history

    def caption(self) -> str:
        """Return the caption of the scene, "" if there are no moves.

        The caption names the moves. For each hero that the moves change, the caption gives life, gold and number of mines, before
        and after the moves.
        """
        if not self.moves:
            return ""
        history = self.history()
        first, last = history.first["hero"][0], history.last["hero"][0]
        moves = ", ".join(f"{NAMES[ply.mover or 0]} moves {_WORDS[int(ply.move or 0)]}" for ply in history)
        changes = [
            f"{NAMES[hero]}: {_numbers(first[hero])} → {_numbers(last[hero])}"
            for hero in range(4)
            if first[hero]["pos"] != 0 and _numbers(first[hero]) != _numbers(last[hero])
        ]
        return f"{moves}. Life, gold, mines of {'; '.join(changes)}"


def _numbers(hero: np.void) -> str:
    return f"{hero['life']}, {hero['gold']}, {hero['mines']}"


SCENES = [
    RuleScene(
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
    RuleScene("mine", "|########|\n|@1$-    |\n|  ##    |\n|    ##@2|", [EAST]),
    RuleScene("tavern", "|########|\n|@1[]    |\n|  ##    |\n|$1  ##@2|\n@1 life 40 gold 5", [EAST]),
    RuleScene("goblin", "|########|\n|  @1$2  |\n|  ##  @2|\n|$1  ##  |\n@1 life 20 gold 5 spawn 2,0", [EAST]),
    RuleScene("blow", "|########|\n|@1  @2  |\n|  ##    |\n|    ##  |", [EAST]),
    RuleScene("kill", "|########|\n|@1  @2  |\n|$2##    |\n|$2  ##  |\n@2 life 15 spawn 3,3", [EAST]),
    RuleScene("respawn", "|########|\n|@1  @2$3|\n|$2##    |\n|$2  ##@3|\n@2 life 15 spawn 3,3\n@3 spawn 2,3", [EAST]),
]


def bundle_of(scene: RuleScene) -> Bundle:
    """Return a scene as the data of a viewer's page."""
    history = scene.history()
    writer = StateWriter(history.first)
    plies = [writer.ply(ply) for ply in history]
    return empty_bundle(history, title=scene.name, source="record") | {"plies": plies} | result_of(history)
