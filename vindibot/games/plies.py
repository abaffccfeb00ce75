"""The plies between the states that one player saw, recomputed through the rules.

A player sees the game only when it is his turn. What happened in between follows from the heroes' last directions: each
hero moves at most once between two of his turns. Every guess is checked: the recomputed state must equal the one that was
seen, or the plies are a **gap**.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from sim.game import ALL_CRASHED, CRASH, MAX_LIFE, MINE, NO_DIRECTION, OFFSET, RUNNING, TILE_BITS, Games, equal, place_heroes
from sim.rules import step


@dataclass(frozen=True)
class Ply:
    """One state of a replay: `games` (an array of one record) after `hero` (0..3) was given `order` (0..4 or
    `sim.game.CRASH`).

    Both are None for the first state, and where `gap` says that the plies since the state before are not known. `seen`
    says that the state is one of those that were given, and not recomputed.
    """

    games: Games = field(repr=False)
    hero: int | None = None
    order: int | None = None
    gap: bool = False
    seen: bool = False


def replay(states: Iterable[Games]) -> Iterator[Ply]:
    """All states from the first to the last of those given (in order, each an array of one record), with the plies between.

    If the first is one of the first round, the replay begins with the state before the first ply, if it can be told. A
    state that does not follow from the one before it is yielded as a gap.
    """
    before: Games | None = None
    for games in states:
        yield from following(before, games)
        before = games


def following(before: Games | None, games: Games) -> list[Ply]:
    """What a state that was seen adds to the one that was seen before it (None if it is the first): the plies between, or a
    gap. Before the first one that is the state before the first ply, if it can be told."""
    if before is None:
        start = opening(games)
        if start is None or start is games:
            return [Ply(games, gap=start is None, seen=True)]
        return [Ply(start), *(between(start, games) or [])]
    plies = between(before, games)
    return [Ply(games, gap=True, seen=True)] if plies is None else plies


def between(before: Games, after: Games) -> list[Ply] | None:
    """The plies that lead from one state to another at most four plies later; None if it does not follow.

    A hero's last direction in `after` is his order, except that a crash leaves the last direction alone and sets the flag
    instead. A game ended by a crash does not count its last ply.
    """
    start, end = before[0], after[0]
    ended_by_crash = end["status"] == ALL_CRASHED
    count = int(end["turn"]) - int(start["turn"]) + int(ended_by_crash and start["status"] == RUNNING)
    if not 0 <= count <= 4:
        return None
    games = before.copy()
    plies: list[Ply] = []
    for number in range(1, count + 1):
        hero = int(games[0]["turn"]) % 4
        order = order_between(before, after, hero)
        if ended_by_crash and number == count and not end["hero"]["crashed"].all():
            games[0]["training"] = 1  # whatever we were told: only in a training game one crash is the end
        if order == NO_DIRECTION or not step(games, 0, order):
            return None
        plies.append(Ply(games.copy(), hero, order, seen=number == count))
    return plies if _shows(after, games) else None


def order_between(before: Games, after: Games, hero: int) -> int:
    """The order (0..4, `CRASH`) of a hero who moved once between two states; `NO_DIRECTION` if he was never given one."""
    last = after[0]["hero"][hero]
    return CRASH if last["crashed"] and not before[0]["hero"][hero]["crashed"] else int(last["last_dir"])


def opening(games: Games) -> Games | None:
    """The state before the first ply, from a state of the first round; None if it cannot be told.

    Everybody stood on his spawn square, and a mine that belongs to a hero who has just gone for it was nobody's.
    """
    turn = int(games[0]["turn"])
    if turn == 0 and games[0]["status"] == RUNNING:
        return games
    if turn >= 4:
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
    return start if between(start, games) is not None else None


def _shows(state: Games, games: Games) -> bool:
    """Whether a state of the wire shows this game; it tells neither the kind of game nor whether squares are shared."""
    state = state.copy()
    state[0]["training"], state[0]["shared"] = games[0]["training"], games[0]["shared"]
    return equal(state, games)
