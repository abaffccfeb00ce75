"""The past of a game as numbers: how often each mine changed hands, who killed and robbed whom, who drank how much.

A player sees the game only on its own turns. `observe` plays the moves between two such states, as `sim.game.GAME` shows them
(the last direction of each hero), and counts the events. If the moves do not lead to the later state, for example because a turn
is missing, only the owners of mines are compared, and `unclear` counts such a pair of states.

A mine **changes hands** if it goes from one hero to another, by a move or with a kill. Squares are numbered as in `sim.game`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from sim import events
from sim.events import EVENT_LOG
from sim.game import (
    CELLS,
    CRASH,
    GAMES,
    MINE,
    OFFSET,
    PLIES_PER_ROUND,
    RUNNING,
    SEATS,
    STAY,
    TAVERN,
    TILE_BITS,
    Games,
)
from sim.kernel_types import EventLogRecord, GameRecord, array_of, int64, record
from sim.kernels import entry, kernel
from sim.rules import play

#: The place of nobody among those from whom a mine was taken: `taken[hero, NOBODY]`.
NOBODY = SEATS

#: The past of a game. Heroes are 0..3. These fields count over all observed rounds:
#:
#: - `rounds`: the rounds between the observed states. `unclear`: the pairs of states between which the moves are unknown.
#: - `kills[a, b]`: how often hero a killed hero b. `deaths[a]`: how often hero a died, for any reason.
#: - `blows[a, b]`: the blows of hero a that hit hero b. `beers[a]`: the beers of hero a.
#: - `taken[a, b]`: the mines that hero a took from hero b by a move (b = `NOBODY`: from nobody).
#: - `retaken[a, b]`: those of them that hero b had got from hero a.
#: - `near_tavern[a]`: the rounds after which hero a stood beside a tavern.
#:
#: These fields have an entry per square, and are 0 where there is no mine:
#:
#: - `changes`: how often the mine changed hands. `owned`: the rounds in which a hero owned it. `held`: the rounds since its
#:   present owner got it, 0 if no hero owns it.
#: - `takes[a]`: how often hero a took this mine by a move. `before`: 1 + the hero that owned it before its present owner, or 0.
PAST = record(
    rounds="i4",
    unclear="i4",
    kills=("u2", (SEATS, SEATS)),
    deaths=("u2", SEATS),
    blows=("u2", (SEATS, SEATS)),
    beers=("u2", SEATS),
    taken=("u2", (SEATS, SEATS + 1)),
    retaken=("u2", (SEATS, SEATS)),
    near_tavern=("u2", SEATS),
    changes=("u2", CELLS),
    owned=("u2", CELLS),
    held=("u2", CELLS),
    takes=("u2", (SEATS, CELLS)),
    before=("u1", CELLS),
)
#: numba's type of an array of such records.
PASTS = array_of(PAST)

#: The past of one game: an array of shape (1,) of dtype `PAST`.
Past = NDArray[np.void]
#: One record of it.
PastRecord = Any


def no_past() -> Past:
    """Return the past of a game of which nothing was observed: all numbers are 0."""
    return np.zeros(1, PAST)


def read_past(data: bytes) -> Past | None:
    """Return the past with these bytes (`tobytes` of a `PAST` record), None for no bytes."""
    return np.frombuffer(bytearray(data), PAST) if data else None


def past_of(seen: Games) -> Past:
    """Return the past of a game from the states that were seen, oldest first: an array of any length."""
    past = no_past()
    for number in range(1, len(seen)):
        observe(past, seen, number - 1, seen, number)
    return past


@kernel
def _owner(cell: int) -> int:
    """Return the hero (0..3) that owns the mine of a cell, `NOBODY` for a mine without a hero, -1 for no mine."""
    tile = cell & TILE_BITS
    if tile < MINE:
        return int64(-1)
    return tile - MINE - 1 if MINE < tile <= MINE + SEATS else int64(NOBODY)


@kernel
def _pass_on(past: PastRecord, square: int, old: int, new: int) -> None:
    """Note that the mine on `square` went from `old` to `new` (0..3 or `NOBODY`)."""
    if old != NOBODY:
        past.before[square] = old + 1
        if new != NOBODY:
            past.changes[square] += 1
    past.held[square] = 0


@kernel
def _note_takes(past: PastRecord, old: int, hero: int, square: int) -> None:
    """Note that `hero` took the mine on `square` from `old` by a move. Call it before `_pass_on`."""
    past.taken[hero, old] += 1
    past.takes[hero, square] += 1
    if old != NOBODY and past.before[square] == hero + 1:
        past.retaken[hero, old] += 1


@kernel
def _next_move(before: GameRecord, after: GameRecord, mover: int) -> int:
    """Return the move of `mover` between two states: 0..4, `CRASH`, or -1 if it has not moved yet."""
    later = after.hero[mover]
    if later.crashed and not before.hero[mover].crashed:
        return int64(CRASH)
    return int64(STAY) if later.crashed else int64(later.last_dir)


@kernel
def _shows(game: GameRecord, after: GameRecord) -> bool:
    """Return whether the heroes and the board of two states are equal."""
    for hero in range(SEATS):
        one, other = game.hero[hero], after.hero[hero]
        if one.pos != other.pos or one.life != other.life or one.gold != other.gold or one.mines != other.mines:
            return False
    same = True
    for square in range(CELLS):
        same &= game.cell[square] == after.cell[square]
    return same


@kernel
def _plies_between(before: GameRecord, after: GameRecord, game: GameRecord) -> int:
    """Play the moves between two states in `game`, a copy of `before`. Return their number, -1 if they do not lead there."""
    plies = int64(after.turn) - int64(before.turn)
    if plies < 0 or plies > PLIES_PER_ROUND:
        return int64(-1)
    for _ in range(plies):
        move = _next_move(before, after, int64(game.turn) & 3)
        if move < 0 or game.status != RUNNING:
            return int64(-1)
        play(game, move, None)
    return plies if _shows(game, after) else int64(-1)


@entry(types.void(PASTS, GAMES, types.int64, GAMES, types.int64))
def observe(pasts: Past, earlier: Games, earlier_index: int, later: Games, later_index: int) -> None:
    """Add what happened between two states of a game to ``pasts[0]``.

    ``earlier[earlier_index]`` is the state on our last turn and ``later[later_index]`` the state now. Neither changes.
    """
    past, before, after = pasts[0], earlier[earlier_index], later[later_index]
    # numba frees an array after its last use, even if a record of it is still used: `scratch` is used in each pass of the loop.
    scratch = earlier[earlier_index : earlier_index + 1].copy()
    plies = _plies_between(before, after, scratch[0])
    if plies >= 0:
        scratch[0] = before
        logs, cells = np.zeros(1, EVENT_LOG), np.zeros(CELLS, np.uint8)
        for _ in range(plies):
            _observe_ply(past, scratch[0], _next_move(before, after, int64(scratch[0].turn) & 3), logs[0], cells)
    else:
        past.unclear += 1
        for square in range(CELLS):
            old, new = _owner(int64(before.cell[square])), _owner(int64(after.cell[square]))
            if old >= 0 and new >= 0 and old != new:
                if new != NOBODY:
                    _note_takes(past, old, new, square)
                _pass_on(past, square, old, new)
    rounds = max(int64(1), (int64(after.turn) - int64(before.turn)) // PLIES_PER_ROUND)
    past.rounds += rounds
    for square in range(CELLS):
        owner = _owner(int64(after.cell[square]))
        if owner >= 0 and owner != NOBODY:
            past.owned[square] += rounds
            past.held[square] += rounds
    for hero in range(SEATS):
        for direction in range(1, 5):
            if int64(after.cell[int64(after.hero[hero].pos) + OFFSET[direction]]) & TILE_BITS == TAVERN:
                past.near_tavern[hero] += rounds
                break


@kernel
def _observe_ply(past: PastRecord, game: GameRecord, move: int, log: EventLogRecord, cells: NDArray[np.uint8]) -> None:
    """Play a ply and note its events. `log` and `cells` are working memory."""
    for square in range(CELLS):
        cells[square] = game.cell[square]
    log.count = 0
    play(game, move, None, log)
    inherited = False
    for number in range(log.count):
        event = log.event[number]
        kind, hero, other = int64(event.kind), int64(event.hero), int64(event.other)
        if kind == events.DRANK:
            past.beers[hero] += 1
        elif kind == events.STRUCK:
            past.blows[hero, other] += 1
        elif kind == events.KILLED or kind == events.KILLED_ON_SPAWN:
            past.kills[hero, other] += 1
        elif kind == events.RESPAWNED:
            past.deaths[hero] += 1
        elif kind == events.INHERITED:
            inherited = True
        elif kind == events.TOOK_MINE:
            old = other if other >= 0 else int64(NOBODY)
            _note_takes(past, old, hero, int64(event.square))
            _pass_on(past, int64(event.square), old, hero)
            cells[int64(event.square)] = MINE + 1 + hero
    if inherited:
        for square in range(CELLS):
            old, new = _owner(int64(cells[square])), _owner(int64(game.cell[square]))
            if old >= 0 and new >= 0 and old != new:
                _pass_on(past, square, old, new)
