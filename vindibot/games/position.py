"""A position with its history, as text: the start of a part of a game, and the moves that were played since.

The start is a drawing of a state (`sim.board.draw`). The moves are one letter per ply: ``.`` for Stay, ``N``, ``S``, ``E``,
``W``, and ``x`` for a crash. Game records, suites of positions, games that go on from a turn and principal variations use this
notation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer

from behaviours.base import RECENT_TURNS, Budget, View
from sim.board import parse
from sim.game import (
    ALL_CRASHED,
    CRASH,
    GAME,
    MAX_LIFE,
    MINE,
    NO_DIRECTION,
    OFFSET,
    PLIES_PER_ROUND,
    RUNNING,
    SEATS,
    TILE_BITS,
    Games,
    copy_of,
    equal,
    place_heroes,
)
from sim.replay import moves_of, play_moves
from sim.rules import step

#: The letters of the moves 0..4 and of a crash.
LETTERS = ".NSEWx"
#: The letters of directions, without a crash.
DIRECTION_LETTERS = LETTERS[:CRASH]


def read_moves(text: str) -> tuple[int, ...]:
    """Return the moves (0..4 or `sim.game.CRASH`) in a text of `LETTERS`. Raises ValueError for another letter."""
    for place, letter in enumerate(text):
        if letter not in LETTERS:
            raise ValueError(f"must consist of {LETTERS}, but move {place} is {letter!r}")
    return tuple(map(LETTERS.index, text))


def write_moves(moves: Iterable[int]) -> str:
    """Return moves (0..4 or `sim.game.CRASH`) as a text with a letter per ply, such as ``N.ESx``."""
    return "".join(LETTERS[move] for move in moves)


def _read(value: Any) -> Any:
    return read_moves(value) if isinstance(value, str) else value


_Move = Annotated[int, Field(ge=0, le=CRASH)]
#: Moves of a model of pydantic, which are a text in JSON.
Moves = Annotated[tuple[_Move, ...], BeforeValidator(_read), PlainSerializer(write_moves, return_type=str)]


@dataclass(frozen=True)
class Position:
    """A position with its history: `start` is a drawing of the first state, `moves` are the plies (0..4 or `sim.game.CRASH`)
    from there to the position."""

    start: str
    moves: tuple[int, ...] = ()

    def first(self) -> Games:
        """Return the state before the first of the moves. Raises `sim.board.BoardError` for a faulty drawing."""
        return parse(self.start)

    def last(self) -> Games:
        """Return the position: the state after all moves."""
        games = self.first()
        play_moves(games, 0, moves_of(self.moves))
        return games

    def turns_of(self, me: int) -> Iterator[Games]:
        """Yield the states in which hero `me` (0..3) was to move, oldest first. The position itself is left out."""
        games = self.first()
        for move in self.moves:
            if games["turn"].item(0) % SEATS == me:
                yield copy_of(games)
            step(games, 0, move)

    def view(self, me: int, nodes: int | None, seed: int = 0) -> View:
        """Return what a trait of hero `me` (0..3) sees in the position, with a search budget of `nodes` nodes (None: no
        limit)."""
        recent = np.concatenate([np.zeros(0, GAME), *self.turns_of(me)])[-RECENT_TURNS:]
        return View(self.last(), me, recent=recent, budget=Budget(nodes=nodes), seed=seed)


def fault_of_state(games: Games) -> str | None:
    """Return what is wrong with a state whose fields follow the protocol but contradict each other. None if games can go on from
    it."""
    for number, hero in enumerate(games["hero"][0]):
        owned = np.count_nonzero((games["cell"] & TILE_BITS) == MINE + 1 + number)
        if hero["mines"] != owned:
            return f"game.heroes[{number}].mineCount: {hero['mines']}, but the board shows {owned}"
        if hero["life"] == 0:
            return f"game.heroes[{number}].life: 0"
    return None


# ---- The plies between two states ----

#: A function that yields the moves (0..4 or `CRASH`) that a hero (0..3) may have made in a state, the likely ones first.
Candidates = Callable[[Games, int], Iterable[int]]


def moves_between(
    before: Games, after: Games, candidates: Candidates | None = None, *, same: Callable[[Games, Games], bool] | None = None
) -> tuple[list[int], Games] | None:
    """Return the moves from state `before` to state `after` (at most four plies later), and the state to which they lead.

    Return None if `after` does not follow from `before`. Without `candidates`, a hero's move is its last direction in `after`, or
    `CRASH` if the hero's flag `crashed` is set only there. If a crash ends the game, the ply of the crash does not count as a
    turn. ``same(after, reached)`` says whether the moves led to `after`; without it, all that the protocol shows must be equal.
    """
    start, end = before[0], after[0]
    ended_by_crash = bool(end["status"] == ALL_CRASHED)
    plies = int(end["turn"]) - int(start["turn"]) + int(ended_by_crash and start["status"] == RUNNING)
    if not 0 <= plies <= PLIES_PER_ROUND:
        return None

    def shown_move(_: Games, hero: int) -> Iterable[int]:
        move = _last_move(before, after, hero)
        return () if move == NO_DIRECTION else (move,)

    ends_alone = ended_by_crash and not end["hero"]["crashed"].all()  # the crash of one hero ends only a training game
    between = _search(before, after, plies, candidates or shown_move, same or _equal_as_shown, training=ends_alone)
    if between is not None:
        between[1][0]["shared"] = end["shared"]
    return between


def _search(
    games: Games,
    after: Games,
    plies: int,
    candidates: Candidates,
    same: Callable[[Games, Games], bool],
    *,
    training: bool,
) -> tuple[list[int], Games] | None:
    """Return the first moves of this number of plies that lead from `games` to `after`, and the state to which they lead. With
    `training`, the last ply is one of a training game."""
    if plies == 0:
        return ([], games) if same(after, games) else None
    for move in candidates(games, int(games["turn"].item(0)) % SEATS):
        later = copy_of(games)
        if training and plies == 1:
            later["training"] = 1
        if step(later, 0, move) and (rest := _search(later, after, plies - 1, candidates, same, training=training)) is not None:
            return [move, *rest[0]], rest[1]
    return None


def _last_move(before: Games, after: Games, hero: int) -> int:
    """Return the move (0..4 or `CRASH`) of `hero` (0..3), which moved once between two states. Return `NO_DIRECTION` if it has
    never moved in the game."""
    last = after[0]["hero"][hero]
    return CRASH if last["crashed"] and not before[0]["hero"][hero]["crashed"] else int(last["last_dir"])


def _equal_as_shown(state: Games, games: Games) -> bool:
    """Return whether `state` equals `games`, except for the fields `training` and `shared`, which the protocol does not show."""
    state = copy_of(state)
    state[0]["training"], state[0]["shared"] = games[0]["training"], games[0]["shared"]
    return equal(state, games)


def first_state_before(games: Games) -> Games | None:
    """Return the state before the first ply, derived from a state of the first round. Return None if that is not possible.

    In the result all heroes stand on their spawn squares, and a mine that a hero took with its first move has no owner.
    """
    turn = int(games[0]["turn"])
    if turn == 0 and games[0]["status"] == RUNNING:
        return games
    if turn >= PLIES_PER_ROUND:
        return None
    start = games.copy()
    game = start[0]
    game["turn"], game["status"] = 0, RUNNING
    for index, hero in enumerate(game["hero"]):
        spawn, last_dir = int(hero["spawn"]), int(hero["last_dir"])
        hero["pos"], hero["life"], hero["gold"] = spawn, MAX_LIFE, 0
        hero["last_dir"], hero["crashed"] = NO_DIRECTION, 0
        target = spawn + int(OFFSET[last_dir]) if last_dir != NO_DIRECTION else spawn
        if int(game["cell"][target]) & TILE_BITS == MINE + 1 + index:
            game["cell"][target] = MINE
    for index, hero in enumerate(game["hero"]):
        hero["mines"] = np.count_nonzero((game["cell"] & TILE_BITS) == MINE + 1 + index)
    place_heroes(start)
    return start if moves_between(start, games) is not None else None
