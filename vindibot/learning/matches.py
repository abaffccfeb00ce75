"""Short matches of a net: against snapshots of itself, in compiled code, and against bots, in this process.

A block has one map and four games, in which the net has each of the four seats once. Three copies of the rival have the other
seats. No training game is played on these maps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.kernel_types import int64
from behaviours.common.map_tables import MAP_TABLES_ARRAY, map_tables_of
from behaviours.net.features import FOUND, FOUND_ARRAY, find_features
from behaviours.net.network import NETWORKS, Network, compiled_networks
from behaviours.net.scoring import UNITS, UNITS_ARRAY, best_move, net_move
from sim.game import GAMES, PLIES_PER_ROUND, RUNNING, SEATS, Game, Games, mover
from sim.kernel_types import INT64S
from sim.kernels import entry
from sim.maps import Map
from sim.rules import play, step
from vindibot.config import Bot
from vindibot.engine import Agent, in_process_voters
from vindibot.learning.trainer import training_map
from vindibot.statistics import estimate_share

#: The number that stands for the thread in `training_map`, for the maps of matches.
_MATCHES = -1


@dataclass(frozen=True)
class NetMatch:
    """The result of a match. `won` and `ahead` have a number (0..1) per block.

    - `won`: the share of the games in which the net had more gold than every rival.
    - `ahead`: the share of its rivals that had less gold; a rival with as much gold counts half.
    """

    won: NDArray[np.float64]
    ahead: NDArray[np.float64]

    @property
    def games(self) -> int:
        """The number of games."""
        return SEATS * len(self.won)

    def text(self) -> str:
        """Return the share of games won, its 95 % interval over the blocks, and the share of rivals behind."""
        low, high = interval(self.won)
        return f"{self.won.mean():.0%} won ({low:.0%} .. {high:.0%}), {self.ahead.mean():.0%} of rivals behind"


def interval(won: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of the share of games won. `won` has this share of each block, which is a game per seat."""
    found = estimate_share((SEATS * won).tolist(), [SEATS] * len(won))
    return found.low, found.high


def match_map(seed: int, block: int) -> Map:
    """Return the map of a block."""
    return training_map(seed, _MATCHES, block)


def against_net(net: Network, rival: Network, seed: int, blocks: int, rounds: int = 300) -> NetMatch:
    """Return the result of a match against three copies of another net."""
    networks, found, units = compiled_networks([net, rival]), np.zeros(1, FOUND), np.zeros(1, UNITS)

    def games() -> Iterator[Game]:
        for block in range(blocks):
            where = match_map(seed, block)
            for seat in range(SEATS):
                game = where.new_game(max_turns=rounds * PLIES_PER_ROUND)
                seats = np.ones(SEATS, np.int64)
                seats[seat] = 0
                play_nets(game, map_tables_of(where), networks, seats, found, units)
                yield game

    return _result(list(games()))


def against_bot(
    net: Network,
    rival: Bot,
    seed: int,
    blocks: int,
    stopped: Callable[[], bool] = lambda: False,
    rounds: int = 300,
    nodes: int = 1000,
) -> NetMatch | None:
    """Return the result of a match against three copies of a bot, which may visit `nodes` nodes per move.

    Return None if `stopped` returns true, which is asked after every game.
    """
    networks, found, units, scores = compiled_networks([net]), np.zeros(1, FOUND), np.zeros(1, UNITS), np.zeros(5, np.int64)
    games = []
    for block in range(blocks):
        where = match_map(seed, block)
        tables = map_tables_of(where)
        for seat in range(SEATS):
            voters = in_process_voters(rival)
            agents = [Agent(voters, hero, seed + hero, nodes=nodes) for hero in range(SEATS)]
            game = where.new_game(max_turns=rounds * PLIES_PER_ROUND)
            while game["status"][0] == RUNNING:
                hero = mover(game)
                if hero == seat:
                    move = net_move(networks, 0, game, 0, hero, tables, found, units, scores)
                else:
                    move = agents[hero].decide_now(game, None).direction
                step(game, 0, move)
            voters.let_go()
            games.append(game)
            if stopped():
                return None
    return _result(games)


def _result(games: list[Game]) -> NetMatch:
    gold = np.array([game["hero"]["gold"][0] for game in games]).reshape(-1, SEATS, SEATS).astype(np.float64)
    seats = np.arange(SEATS)
    own = gold[:, seats, seats][:, :, None]
    behind = (own > gold).sum(axis=2) + ((own == gold).sum(axis=2) - 1) / 2
    return NetMatch(((own > gold).sum(axis=2) == SEATS - 1).mean(axis=1), behind.mean(axis=1) / (SEATS - 1))


@entry(types.void(GAMES, MAP_TABLES_ARRAY, NETWORKS, INT64S, FOUND_ARRAY, UNITS_ARRAY))
def play_nets(
    games: Games,
    tables_array: NDArray[np.void],
    networks: NDArray[np.void],
    seats: NDArray[np.int64],
    found: NDArray[np.void],
    units: NDArray[np.void],
) -> None:
    """Play ``games[0]`` to its end. Hero h makes the best move by ``networks[seats[h]]``."""
    game, scores = games[0], np.zeros(5, np.int64)
    while game.status == RUNNING:
        hero = int64(game.turn) & 3
        find_features(game, tables_array[0], hero, found[0])
        play(game, best_move(networks[seats[hero]], found[0], units[0], scores), None)
