"""Playouts with random moves, and the random numbers of kernels."""

from __future__ import annotations

from numba import types

from sim.game import GAMES, RUNNING, Games
from sim.kernel_types import GameRecord, int64, uint64
from sim.kernels import entry, kernel
from sim.rules import play

_MULTIPLIER = uint64(0x2545F4914F6CDD1D)
_GOLDEN = uint64(0x9E3779B97F4A7C15)
_STREAM = uint64(0xBF58476D1CE4E5B9)
_FINISH = uint64(0x94D049BB133111EB)
_12, _25, _27, _29, _32 = (uint64(bits) for bits in (12, 25, 27, 29, 32))


@kernel
def random_state(seed: int, stream: int) -> int:
    """Return the first state of the random generator for stream number `stream` of `seed`. The state is never 0.

    The state is computed by splitmix64 (Steele et al. 2014).
    """
    word = uint64(seed) * _GOLDEN + (uint64(stream) + uint64(1)) * _STREAM
    word ^= word >> _29
    word *= _FINISH
    word ^= word >> _32
    return word if word != uint64(0) else uint64(1)


@kernel
def next_random(state: int) -> int:
    """Return the next state of the random generator (xorshift64*, Vigna 2016)."""
    state ^= state >> _12
    state ^= state << _25
    state ^= state >> _27
    return state


@kernel
def below(state: int, bound: int) -> int:
    """Return a random number in 0..bound-1, computed from the state of a random generator."""
    return int64((((state * _MULTIPLIER) >> _32) * uint64(bound)) >> _32)


@kernel
def random_move(game: GameRecord, state: int) -> int:
    """Return one of the five moves, all equally likely. `state` is a generator state that has not been used before."""
    return below(state, 5)


@entry(types.int64(GAMES, types.int64))
def play_out_all(games: Games, seed: int) -> int:
    """Play every game in place to its end with random moves. Return the number of plies played.

    The moves in ``games[i]`` come from random stream i of `seed`. Equal games and seeds give equal results.
    """
    plies = 0
    for index in range(len(games)):
        game, state = games[index], random_state(seed, index)
        before = game.turn
        while game.status == RUNNING:
            state = next_random(state)
            play(game, random_move(game, state), None)
        plies += game.turn - before
    return plies
