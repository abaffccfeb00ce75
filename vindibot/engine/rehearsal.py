"""The rehearsal before the first turn of a game: everything that a turn needs is used once, in this process and in each worker.

Some work is done only at the first use: Python imports modules (numba imports `numpy.ma` for the first argument of a kernel),
traits compile functions of their own, a new process copies its memory. Without a rehearsal, all this happens in the first turn.
On a small machine on which several bots start, it may take longer than the time limit.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from behaviours.base import View
from sim.game import PLIES_PER_ROUND, Games, copy_of
from sim.generator import generate
from sim.rules import step
from vindibot.engine.agent import Voters, fallback
from vindibot.games.ballot import tally
from vindibot.games.protocol import Player, encode_json, from_games, read_game, to_games

#: The search budget of each trait in a rehearsal, in nodes.
NODES = 200
#: The rounds of the rehearsed game before the rehearsed turn.
ROUNDS = 6


async def rehearse(voters: Voters) -> None:
    """Rehearse a turn in this process, and in each worker of `voters`, which have been started. Then begin a new game.

    The traits vote on a state of a made-up game. Their votes and failures count for nothing.
    """
    games, recent = _turn()
    state = read_game(encode_json(from_games(games, game_id="rehearsal", players=[Player("")] * 4)))
    view = View(to_games(state), 0, recent=recent)
    move = fallback(view)
    await voters.rehearse(view, nodes=NODES)
    tally([], view.moves, lambda: view.rng("tie"), fallback=move)
    voters.begin_game()


@cache
def _turn() -> tuple[Games, Games]:
    """Return a state of a game with random moves, in which hero 1 is to move, and the states on its turns before."""
    games = generate(1).new_game()
    rng, before = np.random.default_rng(1), []
    for ply, move in enumerate(rng.integers(0, 5, PLIES_PER_ROUND * ROUNDS).tolist()):
        if ply % PLIES_PER_ROUND == 0:
            before.append(copy_of(games))
        step(games, 0, move)
    return games, np.concatenate(before)
