"""Kernels that play many games at once: a learned hero makes one move, and the rivals play until a learned hero moves again.

Each seat of a game has a **player**: `LEARNER`, `RANDOM`, the number of a rival in the kernel (0, 1, ...), or `PROGRAM` less the
number of a bot. A bot is Python code: the kernel stops at its turn, and sets `waiting`.

The reward of a decision is the change of a **worth** until the hero's next turn, or until the end of the game. So the rewards of
a game add up to its worth at the end. Worths at the beginning are 0.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.evaluation import WEIGHT_ARRAY
from behaviours.common.map_tables import MAP_TABLES, MAP_TABLES_ARRAY, map_tables_of
from behaviours.net.features import FOUND_ARRAY, find_features
from behaviours.net.network import NETWORKS
from behaviours.net.scoring import best_move
from behaviours.rollout.policy import NO_GOAL, POLICY_ARRAY, policy_move
from sim.game import GAME, GAMES, RUNNING, STAY, Games
from sim.kernel_types import INT8S, INT64S, GameRecord, int64, tuple_of, uint64, uintp
from sim.kernels import entry, kernel
from sim.maps import Map, map_of
from sim.playout import below, next_random, random_move, random_state
from sim.rules import play

#: Players of a seat, beside the numbers of rivals in the kernel.
LEARNER, RANDOM, PROGRAM = -1, -2, -3
#: What `advance_games` does with a game: nothing, a move of the learned hero, a new game, or the moves after that of a bot.
SKIP, MOVE, BEGIN, GO_ON = range(4)
#: The kinds of worths, see `worth_of`.
REWARDS = ("lead", "gold", "place", "win")
_LEAD, _GOLD, _PLACE, _WIN = range(len(REWARDS))


class MapPool(NamedTuple):
    """The maps of an environment: the game before its first ply, and the tables, of each map. See `map_pool`.

    All environments of a process share them: no kernel writes into them, a copy is the same object, and a pickle has no tables.
    """

    starts: NDArray[np.void]
    tables: NDArray[np.void]

    def __deepcopy__(self, memo: object) -> MapPool:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _pool, (_packed(self.starts),)


def map_pool(maps: Iterable[Map]) -> MapPool:
    """Return the pool of these maps, from a cache."""
    return _pool(_packed(np.concatenate([where.new_game() for where in maps])))


def _packed(starts: Games) -> bytes:
    return zlib.compress(starts.tobytes(), level=1)


@lru_cache(maxsize=4)
def _pool(packed: bytes) -> MapPool:
    starts = np.frombuffer(bytearray(zlib.decompress(packed)), GAME)
    tables = np.zeros(len(starts), MAP_TABLES)
    for number in range(len(starts)):
        tables[number] = map_tables_of.__wrapped__(map_of(starts, number))[0]
    return MapPool(starts, tables)


class RivalPool(NamedTuple):
    """The rivals in the kernel: first `policies`, then `networks`. `weights` are for the policies.

    `players` lists the players from which a game draws its rivals. No kernel writes into the arrays, so copies share them.
    """

    policies: NDArray[np.void]
    networks: NDArray[np.void]
    weights: NDArray[np.void]
    players: NDArray[np.int64]

    def __deepcopy__(self, memo: object) -> RivalPool:
        return self


class Rules(NamedTuple):
    """Numbers that hold for all games: seats with a learner, the seat of the only learner (-1: random), length, kind of worth."""

    learners: int
    hero: int
    max_turns: int
    worth: int


class Running(NamedTuple):
    """The running games, a row for each.

    - `games`, `where`: the state, and the number of the map. `seats` (n x 4): the players. `states`: the random generator.
    - `heroes`: the learned hero whose turn it is. After the end of a game: the learned hero that would be next.
    - `worths` (n x 4): the worth for each hero at its last decision. `gains` (n x 4): the reward of each hero, 0 for a hero that
      still waits for its turn. `rewards`: the gain of the hero in `heroes`.
    - `ended`: whether the game is over. `waiting`: whether it is the turn of a bot. `fresh`: whether nobody has decided yet.
    - `moves` (n x length, or n x 0): the moves of all plies, if there is room.
    """

    games: NDArray[np.void]
    where: NDArray[np.int64]
    seats: NDArray[np.int64]
    states: NDArray[np.uint64]
    heroes: NDArray[np.int64]
    worths: NDArray[np.float64]
    gains: NDArray[np.float64]
    rewards: NDArray[np.float64]
    ended: NDArray[np.bool_]
    waiting: NDArray[np.bool_]
    fresh: NDArray[np.bool_]
    moves: NDArray[np.int8]


_BOOLS, _FLOATS = types.Array(types.boolean, 1, "C"), types.Array(types.float64, 1, "C")
_FLOAT_ROWS = types.Array(types.float64, 2, "C")
_RUNNING = tuple_of(
    [
        GAMES, INT64S, types.Array(types.int64, 2, "C"), types.Array(types.uint64, 1, "C"), INT64S, _FLOAT_ROWS, _FLOAT_ROWS,
        _FLOATS, _BOOLS, _BOOLS, _BOOLS, types.Array(types.int8, 2, "C"),
    ],
    Running,
)  # fmt: skip
_MAPS = tuple_of([GAMES, MAP_TABLES_ARRAY], MapPool)
_RIVALS = tuple_of([POLICY_ARRAY, NETWORKS, WEIGHT_ARRAY, INT64S], RivalPool)
_RULES = tuple_of([types.int64] * 4, Rules)


@kernel
def worth_of(game: GameRecord, hero: int, kind: int) -> float:
    """Return the worth of a state for a hero (0..3).

    - lead: its gold minus the mean gold of the others. gold: its gold.
    - place, at the end of the game only: heroes behind it minus heroes before it, divided by 3.
    - win, at the end of the game only: 1 if it has more gold than every other hero, else 0.
    """
    own, total, behind, before = int64(game.hero[uintp(hero)].gold), int64(0), int64(0), int64(0)
    for seat in range(4):
        gold = int64(game.hero[uintp(seat)].gold)
        total += gold
        behind += int64(gold < own)
        before += int64(gold > own)
    if kind == _LEAD:
        return float(own) - (total - own) / 3
    if kind == _GOLD:
        return float(own)
    if game.status == RUNNING:
        return 0.0
    return (behind - before) / 3 if kind == _PLACE else float(int64(behind == 3))


@kernel
def _begin(running: Running, maps: MapPool, rivals: RivalPool, rules: Rules, number: int, order: NDArray[np.int64]) -> None:
    """Begin game `number` anew: draw its map, the seats of the learners, and the rivals.

    No rival plays twice before all have a seat. `order` is working memory, as long as ``rivals.players``.
    """
    state = next_random(running.states[number])
    place, seats = below(state, len(maps.starts)), running.seats[number]
    running.where[number] = place
    running.games[number] = maps.starts[place]
    running.games[number].max_turns = rules.max_turns
    seats[:] = RANDOM
    if rules.hero >= 0:
        seats[rules.hero] = LEARNER
    else:
        wanted = rules.learners
        while wanted:
            state = next_random(state)
            seat = below(state, 4)
            wanted -= int64(seats[seat] != LEARNER)
            seats[seat] = LEARNER
    left = int64(0)
    for seat in range(4):
        if seats[seat] == LEARNER or len(order) == 0:
            continue
        if left == 0:
            left = int64(len(order))
            for each in range(left):
                order[each] = each
        state = next_random(state)
        drawn = below(state, left)
        left -= 1
        seats[seat] = rivals.players[order[drawn]]
        order[drawn] = order[left]
    running.states[number] = state
    running.worths[number, :] = 0
    running.fresh[number] = True


@entry(types.void(_RUNNING, _MAPS, _RIVALS, _RULES, INT64S, INT8S, INT64S, FOUND_ARRAY))
def advance_games(
    running: Running,
    maps: MapPool,
    rivals: RivalPool,
    rules: Rules,
    order: NDArray[np.int64],
    tasks: NDArray[np.int8],
    actions: NDArray[np.int64],
    found_array: NDArray[np.void],
) -> None:
    """Do ``tasks[i]`` (`SKIP`, `MOVE`, `BEGIN` or `GO_ON`) with game i, then play until a learned hero or a bot has its turn.

    ``actions[i]`` is the move for `MOVE`; a number that is no direction is Stay. `order` lists the games: this is faster if games
    on one map follow each other. `found_array` is an array of one record, which is overwritten.
    """
    features, scores, drawn = found_array[0], np.zeros(5, np.int64), np.zeros(len(rivals.players), np.int64)
    policies = len(rivals.policies)
    for number in order:
        task = tasks[number]
        if task == SKIP:
            continue
        if task == BEGIN:
            _begin(running, maps, rivals, rules, number, drawn)
        game, seats, ply = running.games[number], running.seats[number], running.moves[number]
        tables, state = maps.tables[running.where[number]], running.states[number]
        move = actions[number] if 0 <= actions[number] <= 4 else int64(STAY)
        chosen = task == MOVE
        running.fresh[number] &= task != MOVE
        while game.status == RUNNING:
            hero = int64(game.turn) & 3
            player = seats[hero]
            if not chosen:
                if player == LEARNER or player <= PROGRAM:
                    break
                if player == RANDOM:
                    state = next_random(state)
                    move = int64(random_move(game, state))
                elif player < policies:
                    move = int64(policy_move(game, tables, rivals.weights[0], rivals.policies[player], hero, int64(NO_GOAL)))
                else:
                    find_features(game, tables, hero, features)
                    move = int64(best_move(rivals.networks[player - policies], features, scores))
            if len(ply):
                ply[game.turn] = move
            play(game, move, None)
            chosen = False
        running.states[number] = state
        hero, over = int64(game.turn) & 3, game.status != RUNNING
        running.ended[number], running.waiting[number] = over, not over and seats[hero] <= PROGRAM
        if running.waiting[number]:
            continue
        while seats[hero] != LEARNER:
            hero = (hero + 1) & 3
        running.heroes[number], running.gains[number, :] = hero, 0
        if not running.fresh[number]:
            for seat in range(4):
                if seats[seat] == LEARNER and (seat == hero or over):
                    worth = worth_of(game, seat, rules.worth)
                    running.gains[number, seat] = worth - running.worths[number, seat]
                    running.worths[number, seat] = worth
        running.rewards[number] = running.gains[number, hero]


@entry(types.void(GAMES, types.int64, _FLOAT_ROWS))
def worths_in(games: Games, kind: int, worths: NDArray[np.float64]) -> None:
    """Write the worth of each game for each hero into `worths` (float64, n x 4). `kind` is a number in `REWARDS`."""
    for number in range(len(games)):
        for hero in range(4):
            worths[number, hero] = worth_of(games[number], hero, kind)


@entry(types.uint64(types.uint64))
def seed_state(seed: int) -> int:
    """Return the state of the random generator of a game with this seed."""
    return random_state(uint64(seed), int64(0))
