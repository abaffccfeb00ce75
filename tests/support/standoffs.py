"""Measure stand-offs: ``python -m tests.support.standoffs COMMAND ...``.

- ``collect FILE RECORDS ...`` writes the beginnings of stand-offs in recorded games to `FILE` (gzip): one game record per line,
  cut at the beginning. Field `extra` has the `hero` (0..3) that stalls and the `round`.
- ``leave [--file FILE] [--nodes N]`` plays `ROUNDS` rounds from each beginning, twice: the hero plays on, or it first goes to the
  best goal at least `FAR` moves away.
- ``stuck BOT ... [--file FILE] [--nodes N] [--every N]`` replaces the hero's bot by each bot, `SHORTEST` rounds after the
  beginning, and plays `LATER` rounds. With ``--every``, it takes only each N-th beginning.

The names in the records are names of bot files. A stand-off is a run of stalled rounds (`vindibot.arena.referee`).
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from behaviours import RECENT_TURNS
from behaviours.common.map_tables import AWAY, MAX_MINES, map_tables_of
from sim import kernels
from sim.game import CELLS, MINE, PLIES_PER_ROUND, RUNNING, STRIDE, TILE_BITS, Games
from sim.maps import Map, map_of
from sim.rules import effective_moves, step
from tests.support.paths import TOP
from vindibot.arena.referee import SHORTEST, SIDE, stalled_rounds
from vindibot.config.bots import Bot, load_bot
from vindibot.engine.agent import Agent, in_process_voters
from vindibot.games.files.game_files import read_records
from vindibot.games.game_record import GameRecord, dumps, loads

FILE = TOP / "tests" / "data" / "standoffs.jsonl.gz"
#: Rounds played from the beginning of a stand-off, and from later in it.
ROUNDS, LATER = 60, 100
#: Smallest distance of a goal for which the hero leaves, in moves, and the largest number of moves to this goal.
FAR, MAX_MOVES = 8, 40
#: The first round of the second and of the third phase of a game.
PHASES = (100, 200)
#: The bot whose stand-offs are measured.
OURS = "strong-1"
#: The folders in which bots of games are looked up.
FOLDERS = ("", "sparring/", "versions/")


def states_of(record: GameRecord) -> list[Games]:
    """Return all states of a recorded game, the first one before the first ply."""
    games = record.first()
    states = [games.copy()]
    for move in record.moves:
        step(games, 0, move)
        states.append(games.copy())
    return states


def positions_of(states: Sequence[Games], hero: int) -> list[int]:
    """Return the square of a hero at the start of each round."""
    return [int(state[0].hero[hero].pos) for state in states[::PLIES_PER_ROUND]]


def beginnings(squares: Sequence[int]) -> Iterator[int]:
    """Yield the first round of each run of stalled rounds."""
    positions = np.stack(np.divmod(squares, STRIDE), axis=1)
    until = 0
    for first in range(len(positions) - SHORTEST + 1):
        if first >= until and (np.ptp(positions[first : first + SHORTEST], axis=0) < SIDE).all():
            yield first
            until = first + SHORTEST
            while until < len(positions) and (np.ptp(positions[until - SHORTEST + 1 : until + 1], axis=0) < SIDE).all():
                until += 1


@dataclass(frozen=True)
class Standoff:
    """The beginning of a stand-off: the game until then, the hero that stalls (0..3), and the round."""

    record: GameRecord
    hero: int
    round: int

    @property
    def bot(self) -> str:
        """The name of the hero's bot."""
        return self.record.names[self.hero]

    @property
    def phase(self) -> int:
        """The phase of the game in which the stand-off begins: 1, 2 or 3."""
        return phase_of(self.round)

    def seats(self, bot: Bot | None, nodes: int, later: int = 0) -> tuple[Games, list[Agent]]:
        """Return the position `later` rounds after the beginning, and agents that have seen the rounds before it.

        The bot `bot` plays the hero; if it is None, the hero's own bot plays.
        """
        states = states_of(self.record)
        ply = PLIES_PER_ROUND * (self.round + later)
        agents = []
        for seat, name in enumerate(self.record.names):
            chosen = bot if bot is not None and seat == self.hero else bot_named(name)
            agent = Agent(in_process_voters(chosen), seat, seed=seat, nodes=nodes)
            for turn in range(seat, ply, PLIES_PER_ROUND)[-RECENT_TURNS:]:
                agent._view(states[turn])
            agents.append(agent)
        return states[ply].copy(), agents


def bot_named(name: str) -> Bot:
    """Return the bot of a name in a record."""
    if name.endswith(".toml"):
        return load_bot(Path(name))
    for folder in FOLDERS:
        path = TOP / "config" / "bots" / f"{folder}{name}.toml"
        if path.is_file():
            return load_bot(path)
    raise SystemExit(f"there is no bot {name!r} in config/bots")


def best_far_mine(games: Games, where: Map, hero: int) -> int | None:
    """Return the number of the best mine at least `FAR` moves away that is not the hero's: the nearest one that it reaches before
    every rival, otherwise the nearest one."""
    tables = map_tables_of(where)[0]
    distances = tables["to_mine"].reshape(CELLS, MAX_MINES)
    heroes = games[0].hero
    mine_tiles = games[0].cell[tables["mine"][: int(tables["mines"])]] & TILE_BITS
    rivals = distances[[int(heroes[rival].pos) for rival in range(4) if rival != hero]].min(axis=0)
    own = distances[int(heroes[hero].pos)]
    found = [number for number, tile in enumerate(mine_tiles) if tile != MINE + 1 + hero and FAR <= own[number] < AWAY]
    return min(found, key=lambda number: (own[number] >= rivals[number], own[number]), default=None)


def play_on(games: Games, agents: Sequence[Agent], rounds: int, hero: int, goal: int | None = None) -> tuple[Games, list[int]]:
    """Return the position after this number of rounds, and the squares of the hero. With a `goal`, the hero first goes there."""
    where = map_of(games)
    tables = map_tables_of(where)[0]
    squares, spent = [], 0
    for _ in range(PLIES_PER_ROUND * rounds):
        if games[0].status != RUNNING:
            break
        mover = int(games[0].turn) % 4
        move = agents[mover].decide_now(games).direction
        if mover == hero:
            pos = int(games[0].hero[hero].pos)
            squares.append(pos)
            if goal is not None and spent < MAX_MOVES:
                forced = int(tables["mine_step"][goal * CELLS + pos])
                if effective_moves(games, 0, hero) >> forced & 1:
                    move = forced
                spent += 1
        life = int(games[0].hero[hero].life)
        step(games, 0, move)
        taken = goal is not None and int(games[0].cell[int(tables["mine"][goal])]) & TILE_BITS == MINE + 1 + hero
        died = mover != hero and int(games[0].hero[hero].life) > life
        if taken or died:
            goal = None
    return games, squares


def gold_gained(before: Games, after: Games, hero: int) -> tuple[int, int]:
    """Return the gold that a hero gained, and this gain minus the largest gain of a rival."""
    gained = (after["hero"]["gold"][0].astype(int) - before["hero"]["gold"][0]).tolist()
    return gained[hero], gained[hero] - max(gold for seat, gold in enumerate(gained) if seat != hero)


def read_standoffs(path: Path) -> list[Standoff]:
    """Return the stand-offs of a file that `collect` wrote."""
    lines = gzip.decompress(path.read_bytes()).splitlines()
    records = [loads(line) for line in lines]
    return [Standoff(record, record.extra["hero"], record.extra["round"]) for record in records]


def phase_of(round_number: int) -> int:
    """Return the phase of the game of a round: 1, 2 or 3."""
    return 1 + sum(round_number >= first for first in PHASES)


def collect(path: Path, sources: Sequence[Path]) -> int:
    """Write the stand-offs of recorded games to a file. A stand-off begins at most `ROUNDS` rounds before the end."""
    found: list[GameRecord] = []
    for source in sources:
        for record in read_records(source):
            states = states_of(record)
            for hero in range(4):
                for first in beginnings(positions_of(states, hero)):
                    last = PLIES_PER_ROUND * (first + SHORTEST)
                    if first < RECENT_TURNS or first > record.max_turns // PLIES_PER_ROUND - ROUNDS or last > len(record.moves):
                        continue
                    extra = {"hero": hero, "round": first}
                    found.append(replace(record, moves=record.moves[:last], extra=extra))
    path.write_bytes(gzip.compress(b"\n".join(map(dumps, found)), mtime=0))
    counts = [sum(phase_of(record.extra["round"]) == phase for record in found) for phase in (1, 2, 3)]
    print(f"{len(found)} stand-offs, in the phases of the game: {counts}")
    return 0


def leave(path: Path, nodes: int) -> int:
    """Print the gold and the lead after staying and after leaving, for each stand-off and on average."""
    print("| game | bot | phase | gold, stays | leaves | lead, stays | leaves |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    for standoff in read_standoffs(path):
        results = []
        for leaves in (False, True):
            games, agents = standoff.seats(None, nodes)
            goal = best_far_mine(games, map_of(games), standoff.hero) if leaves else None
            if leaves and goal is None:
                break
            after, _ = play_on(games.copy(), agents, ROUNDS, standoff.hero, goal)
            results.append(gold_gained(games, after, standoff.hero))
        if len(results) < 2:
            continue
        (stays, stays_lead), (gone, gone_lead) = results
        rows.append((standoff.bot, standoff.phase, stays, gone, stays_lead, gone_lead))
        print(f"| {standoff.record.id} | `{standoff.bot}` | {standoff.phase} | {stays} | {gone} | {stays_lead} | {gone_lead} |")
    print("\n| bot | phase | positions | gold, stays | leaves | lead, stays | leaves |\n|---|---|---|---|---|---|---|")
    for ours in (True, False):
        for phases in ((1,), (2,), (3,), (1, 2, 3)):
            kept = [row[2:] for row in rows if (row[0] == OURS) == ours and row[1] in phases]
            if kept:
                means = " | ".join(f"{mean:.0f}" for mean in np.mean(kept, axis=0))
                print(f"| {OURS if ours else 'rival'} | {', '.join(map(str, phases))} | {len(kept)} | {means} |")
    return 0


def stuck(bots: Sequence[str], path: Path, nodes: int, every: int) -> int:
    """Print for each bot the mean gold, lead and stalled rounds, if it plays on from the middle of each stand-off."""
    standoffs = [one for one in read_standoffs(path) if one.bot == OURS][::every]
    for name in bots:
        rows = []
        for standoff in standoffs:
            before, agents = standoff.seats(bot_named(name), nodes, later=SHORTEST)
            after, squares = play_on(before.copy(), agents, LATER, standoff.hero)
            rows.append((*gold_gained(before, after, standoff.hero), stalled_rounds(squares)))
        array = np.array(rows)
        spread = array.std(axis=0, ddof=1) / np.sqrt(len(array))
        gold, lead, stalled = (f"{one:.0f} +-{error:.0f}" for one, error in zip(array.mean(axis=0), 1.96 * spread, strict=True))
        print(f"{name}: {len(rows)} positions, gold {gold}, lead {lead}, stalled {stalled}", flush=True)
    return 0


def main(arguments: Sequence[str]) -> int:
    """Run a command. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.standoffs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=["collect", "leave", "stuck"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args(arguments)
    kernels.warm()
    if given.command == "collect":
        return collect(Path(given.names[0]), [Path(name) for name in given.names[1:]])
    if given.command == "leave":
        return leave(given.file, given.nodes)
    return stuck(given.names, given.file, given.nodes, given.every)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
