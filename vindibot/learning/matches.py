"""``vindibot learn match``: matches of nets, against other nets in compiled code, and against bots in this process.

A block has one map and four games, in which the net has each of the four seats once. Three copies of the rival have the other
seats. No training game is played on these maps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.map_tables import MAP_TABLES_ARRAY, map_tables_of
from behaviours.net.features import FOUND, FOUND_ARRAY, find_features
from behaviours.net.network import NETWORKS, Net, Network, compiled_networks
from behaviours.net.scoring import best_move, net_move
from behaviours.net.trait import Learned
from sim.events import RESPAWNED
from sim.game import GAMES, PLIES_PER_ROUND, RUNNING, SEATS, Game, Games, mover
from sim.kernel_types import INT8S, INT64S, int64
from sim.kernels import entry
from sim.maps import Map
from sim.replay import Moves, events_of, moves_of
from sim.rules import play, step
from vindibot.base import interrupts
from vindibot.base.console import plain_table, say, terminal
from vindibot.base.errors import UsageError
from vindibot.base.interrupts import Stop, stopping
from vindibot.base.writing import given_path
from vindibot.config.bots import Bot, load_bot
from vindibot.engine.agent import Agent, in_process_voters
from vindibot.engine.warmup import warm
from vindibot.learning.network import read_nets
from vindibot.learning.trainer import training_map
from vindibot.statistics.means import rate_interval
from vindibot.statistics.shares import estimate_share

#: The file of the net in a folder of self-play.
NET_FILE = "net.npz"
#: The number that stands for the thread in `training_map`, for the maps of matches.
_MATCHES = -1
#: The heads of a table of matches.
MATCH_HEADS = ("net", "three rivals", "games", "won", "95 %", "deaths", "95 %", "difference")


@dataclass(frozen=True)
class NetMatch:
    """The result of a match. Each array has a number per block.

    - `won`: the share (0..1) of the games in which the net had more gold than every rival.
    - `deaths`: the deaths of the net per game.

    `each` is the number of games in a block.
    """

    won: NDArray[np.float64]
    deaths: NDArray[np.float64]
    each: int = SEATS

    @classmethod
    def of_all(cls, matches: Sequence[NetMatch]) -> NetMatch:
        """Return matches on the same maps as one match: all games on a map are one block."""
        won, deaths = (np.mean([getattr(match, name) for match in matches], axis=0) for name in ("won", "deaths"))
        return cls(won, deaths, SEATS * len(matches))

    @property
    def games(self) -> int:
        """The number of games."""
        return self.each * len(self.won)

    def won_interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the share of games won."""
        share = estimate_share((self.each * self.won).tolist(), [self.each] * len(self.won))
        return share.low, share.high

    def deaths_interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the deaths per game. There must be at least two blocks."""
        return rate_interval((self.each * self.deaths).tolist(), [self.each] * len(self.deaths))


def match_map(seed: int, block: int) -> Map:
    """Return the map of a block."""
    return training_map(seed, _MATCHES, block)


def _deaths(where: Map, moves: Moves, seat: int) -> int:
    """Return the number of deaths of the hero on a seat, in a whole game with these moves."""
    events, _ = events_of(where.new_game(max_turns=len(moves)), moves.tolist())
    return int(((events["kind"] == RESPAWNED) & (events["hero"] == seat)).sum())


def _result(games: list[Game], deaths: list[int]) -> NetMatch:
    """Return the result of games in which the net has seat 0, 1, 2, 3, 0, ..."""
    gold = np.array([game["hero"]["gold"][0] for game in games]).reshape(-1, SEATS, SEATS)
    own = np.diagonal(gold, axis1=1, axis2=2)[:, :, None]
    won = ((own > gold).sum(axis=2) == SEATS - 1).mean(axis=1)
    return NetMatch(won, np.array(deaths, np.float64).reshape(-1, SEATS).mean(axis=1))


@dataclass(frozen=True)
class MatchRival:
    """A rival of nets: a bot, or another net, which plays in compiled code."""

    name: str
    player: Bot | Network

    def meet(
        self, net: Network, seed: int, blocks: int, stopped: Callable[[], bool], *, nodes: int = 1000, rounds: int = 300
    ) -> NetMatch | None:
        """Return the result of a match of `net` against three copies of this rival. A bot may visit `nodes` nodes per move.

        Return None if `stopped` returns true, which is asked after every game.
        """
        games, deaths = [], []
        for block in range(blocks):
            where = match_map(seed, block)
            for seat in range(SEATS):
                game = where.new_game(max_turns=rounds * PLIES_PER_ROUND)
                if isinstance(self.player, Bot):
                    moves = play_against_bot(game, where, net, self.player, seat, seed, nodes)
                else:
                    moves = play_against_net(game, where, net, self.player, seat)
                games.append(game)
                deaths.append(_deaths(where, moves, seat))
                if stopped():
                    return None
        return _result(games, deaths)


def play_against_net(game: Game, where: Map, net: Network, rival: Network, seat: int) -> Moves:
    """Play a game to its end, and return all moves. `net` has one seat, and `rival` all others."""
    moves, players = np.zeros(game["max_turns"].item(0), np.int8), np.ones(SEATS, np.int64)
    players[seat] = 0
    networks, features = compiled_networks([net, rival]), np.zeros(1, FOUND)
    play_nets(game, map_tables_of(where), networks, players, features, moves)
    return moves


def play_against_bot(game: Game, where: Map, net: Network, rival: Bot, seat: int, seed: int, nodes: int) -> Moves:
    """Play a game to its end, and return all moves. `net` has one seat, and the bot `rival` all others."""
    tables, networks = map_tables_of(where), compiled_networks([net])
    features, scores = np.zeros(1, FOUND), np.zeros(5, np.int64)
    voters, moves = in_process_voters(rival), []
    agents = [Agent(voters, hero, seed + hero, nodes=nodes) for hero in range(SEATS)]
    while game["status"][0] == RUNNING:
        hero = mover(game)
        if hero == seat:
            move = net_move(networks, 0, game, 0, hero, tables, features, scores)
        else:
            move = agents[hero].decide_now(game, None).direction
        step(game, 0, move)
        moves.append(move)
    voters.let_go()
    return moves_of(moves)


def _label(path: Path) -> str:
    """Return the name of a file of nets in a table: that of the folder for a file with the name of those of self-play."""
    return path.resolve().parent.name if path.name == NET_FILE else path.stem


def net_of(text: str) -> tuple[str, Net]:
    """Return a net and its label in a table. `text` names a file of nets, whose first net it is, or a bot that plays only a net.

    Raises `UsageError` if there is no such net.
    """
    if text.endswith(".npz"):
        path = given_path(text)
        return _label(path), read_nets(path)[0]
    bot = load_bot(text)
    traits = bot.build()
    if len(traits) != 1 or not isinstance(traits[0][1], Learned):
        raise UsageError(f"{text}: the bot must have the trait learned and no other; or name a file of nets (.npz)")
    return bot.name, read_nets(Path(traits[0][1].net))[0]


def rivals_of(texts: Sequence[str]) -> list[MatchRival]:
    """Return the rivals. Each text names a bot, or a file of nets, all of whose nets are rivals.

    Raises `UsageError` if a bot or a file cannot be read.
    """
    rivals = []
    for text in texts:
        if text.endswith(".npz"):
            path = given_path(text)
            nets = read_nets(path)
            names = [_label(path)] if len(nets) == 1 else [net.name or _label(path) for net in nets]
            rivals += [MatchRival(f"{name} (net)", net.policy) for name, net in zip(names, nets, strict=True)]
        else:
            bot = load_bot(text)
            rivals.append(MatchRival(bot.name, bot))
    return rivals


def run_matches(nets: Sequence[str], *, against: Sequence[str], blocks: int, seed: int, nodes: int) -> int:
    """Do what ``vindibot learn match`` does with these arguments and options, and return its exit code."""
    players, rivals = [net_of(text) for text in nets], rivals_of(against)
    console, stop = terminal(), Stop()
    warm(console)
    table = plain_table(*MATCH_HEADS, left=("net", "three rivals"))
    played: list[list[NetMatch]] = [[] for _ in players]  # the matches of each player
    with stopping(stop):
        for rival in rivals:
            for (name, net), own in zip(players, played, strict=True):
                match = rival.meet(net.policy, seed, blocks, lambda: stop.soon, nodes=nodes)
                if match is None:
                    break
                own.append(match)
                base = None if own is played[0] else played[0][-1]
                table.add_row(*match_row(name, rival.name, match, base))
                say(console, f"{name} against three of {rival.name}: {match.won.mean():.0%} of {match.games} games won", "dim")
            if stop.soon:
                break
    if len(rivals) > 1 and not stop.soon:
        whole = [NetMatch.of_all(own) for own in played]
        for (name, _), match in zip(players, whole, strict=True):
            table.add_row(*match_row(name, "all", match, None if match is whole[0] else whole[0]))
    if table.row_count:
        console.print(table)
    if stop.soon:
        say(console, "interrupted: the other matches were not played", "yellow")
        return interrupts.INTERRUPTED
    return 0


def match_row(name: str, rival: str, match: NetMatch, base: NetMatch | None) -> list[str]:
    """Return the row of a match in a table with the heads `MATCH_HEADS`.

    `base` is the match of another net against the same rival on the same maps. The difference is that of the games won, in
    percentage points, with two standard errors over the maps.
    """
    (low, high), (few, many) = match.won_interval(), match.deaths_interval()
    difference = ""
    if base is not None:
        gains = 100 * (match.won - base.won)
        difference = f"{gains.mean():+.0f} (+-{2 * gains.std(ddof=1) / np.sqrt(len(gains)):.0f})"
    won = f"{match.won.mean():.0%}", f"{100 * low:.0f} .. {100 * high:.0f}"
    return [name, rival, str(match.games), *won, f"{match.deaths.mean():.2f}", f"{few:.2f} .. {many:.2f}", difference]


@entry(types.void(GAMES, MAP_TABLES_ARRAY, NETWORKS, INT64S, FOUND_ARRAY, INT8S))
def play_nets(
    games: Games,
    tables_array: NDArray[np.void],
    networks: NDArray[np.void],
    seats: NDArray[np.int64],
    features: NDArray[np.void],
    moves: Moves,
) -> None:
    """Play ``games[0]`` to its end. Hero h makes the best move by ``networks[seats[h]]``. `moves` gets all moves."""
    game, scores, ply = games[0], np.zeros(5, np.int64), int64(0)
    while game.status == RUNNING:
        hero = int64(game.turn) & 3
        find_features(game, tables_array[0], hero, features[0])
        move = best_move(networks[seats[hero]], features[0], scores)
        moves[ply] = move
        ply += 1
        play(game, move, None)
