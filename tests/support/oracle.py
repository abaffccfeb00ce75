"""The recorded games of the original server, with every state: a file has one game per line as JSON, gzipped.

A game has the state before the first ply in the protocol's form (``init``), the spawn squares, the moves, and the whole state
after each move: [turn, finished, tiles, heroes].
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from sim.board import draw, tile_text
from sim.game import ALL_CRASHED, CRASH, DIRECTIONS, NO_DIRECTION, RUNNING, TURN_MAX, Games, place_heroes, row_column, square
from sim.rules import step
from vindibot.games.protocol import read_game, to_games

MOVES = {**{word: direction for direction, word in enumerate(DIRECTIONS)}, "Crash": CRASH}
_ENDS = {"TurnMax": TURN_MAX, "AllCrashed": ALL_CRASHED}


def read_games(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the games in a file."""
    with gzip.open(path) as file:
        yield from map(json.loads, file)


def first_state(game: dict[str, Any]) -> Games:
    """Return the state before the first ply. Raises `ProtocolError` if our rules cannot play it: some boards are not square."""
    games = to_games(read_game(game["init"]))
    games[0]["training"] = bool(game.get("training"))
    games[0]["hero"]["spawn"] = [square(row, column) for row, column in game["spawns"]]
    place_heroes(games)
    return games


def states_of(game: dict[str, Any]) -> Iterator[Games]:
    """Yield the states before the first ply and after each ply, by our rules."""
    games = first_state(game)
    yield games.copy()
    for word in game["moves"]:
        step(games, 0, MOVES[word])
        yield games.copy()


def shown(games: Games) -> list[Any]:
    """Return a state in the form of the recorded states."""
    record, heroes = games[0], []
    for hero in record["hero"]:
        gold, pos, life, mines, _, last, crashed, _ = hero.tolist()
        heroes.append([*row_column(pos), life, gold, mines, None if last == NO_DIRECTION else DIRECTIONS[last], bool(crashed)])
    return [int(record["turn"]), bool(record["status"] != RUNNING), tile_text(games), heroes]


def check_game(game: dict[str, Any]) -> int:
    """Compare every state and the ending of a game, and return the number of states. Raises AssertionError with the boards."""
    states = list(states_of(game))
    for number, ((before, after), recorded) in enumerate(zip(pairwise(states), game["states"], strict=True)):
        assert shown(after) == recorded, f"{game['id']}, ply {number}, {game['moves'][number]}\n{draw(before)}\n{draw(after)}"
    assert game.get("end") is None or int(states[-1][0]["status"]) == _ENDS[game["end"]], game["id"]
    return len(game["states"])
