"""The arena: games per minute in process and over HTTP, the time per trait, and the final table."""

from __future__ import annotations

import io
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from sim.kernels import warm
from tests.support.arenagames import made_up, rotations
from vindibot.arena.games import load_games, play_task
from vindibot.arena.referee import GameRun, line_of, play
from vindibot.arena.report.live import Reporter
from vindibot.arena.report.summary import summarise
from vindibot.arena.report.table import show
from vindibot.arena.results import read_results
from vindibot.arena.schedule import GameTask
from vindibot.arena.seats.bots import local_seat
from vindibot.arena.settings import ArenaSettings
from vindibot.arena.tournament import Tournament, prepare
from vindibot.config.bots import load_bot, make_importable
from vindibot.config.load import load_config
from vindibot.devtools.scaffold import write_project

from . import Row, sized

#: Number of games of four seeds in process, and over HTTP.
GAMES, HOSTED = sized((20, 2), (2, 1))
#: Number of rounds of these games.
ROUNDS = sized(300, 20)
#: Number of games of bots with code of their own.
OWN = sized(8, 1)
#: Number of results in a file.
RESULTS = sized(10_000, 400)


def rows() -> list[Row]:
    """Return all measurements of the arena."""
    load_bot("seed").build()  # imported so that its kernels are loaded too
    warm()
    with tempfile.TemporaryDirectory() as folder:
        return [
            *_in_process(Path(folder)),
            _in_children(Path(folder)),
            _over_http(Path(folder)),
            *_tables(Path(folder)),
        ]


def new_tournament(folder: Path, **settings: Any) -> Tournament:
    """Return a tournament of these settings."""
    path = folder / f"{time.monotonic_ns()}.jsonl"
    return prepare(load_config(ArenaSettings, None, {"results": str(path), "workers": 1, "seed": 1, **settings}, environ={}))


def _play(task: GameTask) -> GameRun:
    """Play a game in this process, as a worker does."""
    run = play(task, [local_seat(seat) for seat in task.seats], inf)
    line_of(task, run)
    return run


@contextmanager
def _timed(bot: str) -> Iterator[dict[str, float]]:
    """Yield the seconds of each of the bot's traits. Every vote in the block adds to them."""
    seconds: dict[str, float] = {}
    kinds = {type(behaviour): spec.label for spec, behaviour in load_bot(bot).build()}
    votes = {kind: kind.vote for kind in kinds}

    def watched(kind: type) -> Any:
        def vote(self: Any, view: Any) -> Any:
            began = time.perf_counter()
            try:
                return votes[kind](self, view)
            finally:
                seconds[kinds[kind]] = seconds.get(kinds[kind], 0.0) + time.perf_counter() - began

        return vote

    try:
        for kind in kinds:
            kind.vote = watched(kind)  # type: ignore[method-assign]
        yield seconds
    finally:
        for kind, vote in votes.items():
            kind.vote = vote  # type: ignore[method-assign]


def _in_process(folder: Path) -> list[Row]:
    """Measure games of four seeds on 18x18: their processor time, and the share of each trait."""
    setup = {
        "bots": ["a=seed", "b=seed", "c=seed", "d=seed"],
        "maps.set": "random",
        "maps.sizes": [18],
        "blocks": GAMES,
        "rounds": ROUNDS,
    }
    tournament = new_tournament(folder, **setup)
    tasks = [task for task in tournament.schedule.tasks() if task.game == 0]
    tournament.store.close()
    _play(tasks[0])
    began = time.process_time()
    for task in tasks:
        _play(task)
    spent = (time.process_time() - began) / len(tasks)
    found = [Row(f"four seeds, 18x18, {ROUNDS} rounds, in process", f"{60 / spent:.0f} games/min and core", "", "wanted 120")]
    with _timed("seed") as seconds:
        began = time.perf_counter()
        for task in tasks[: GAMES // 2]:
            _play(task)
        total = time.perf_counter() - began
    parts = sorted(seconds.items(), key=lambda one: -one[1])
    shares = ", ".join(f"{label} {part / total:.0%}" for label, part in parts)
    rest = 1 - sum(seconds.values()) / total
    return [*found, Row("  per ply", f"{spent * 1e6 / (4 * ROUNDS):.0f} us", "", f"{shares}, view, tally and rules {rest:.0%}")]


def _in_children(folder: Path) -> Row:
    """Measure the wall time of games of four bots with code of their own: in processes of their own, and in this process."""
    bots = [str(folder / label) for label in "abcd"]
    for bot in bots:
        write_project(Path(bot))
    tournament = new_tournament(folder, bots=bots, **{"maps.set": "random", "maps.sizes": [18], "blocks": OWN, "rounds": ROUNDS})
    tasks = [task for task in tournament.schedule.tasks() if task.game == 0]
    tournament.store.close()
    for entrant in tournament.schedule.entrants:
        assert entrant.bot is not None
        make_importable(entrant.bot.folders)
    load_games(tournament.schedule.entrants)
    seconds: dict[Callable[[GameTask], object], list[float]] = {_play: [], play_task: []}
    for task in [tasks[0], *tasks]:
        for way, spent in seconds.items():
            began = time.perf_counter()
            way(task)
            spent.append(time.perf_counter() - began)
    here, apart = (float(np.median(spent[1:])) for spent in seconds.values())
    more = (apart - here) / (4 * ROUNDS) * 1e6
    note = f"{apart * 1000:.0f} and {here * 1000:.0f} ms a game, one game at a time; {more:.0f} us more per move"
    return Row("four new projects, own processes over one process", f"{apart / here:.2f}", "", note)


def _over_http(folder: Path) -> Row:
    """Measure the same bots as programs that speak HTTP to the arena's server."""
    client = f"{sys.executable} -m vindibot play --server {{server}} --mode arena --bot seed"
    client += " --display none --no-recording --in-process"
    bots = [f"{label}=http:{client}" for label in "abcd"]
    tournament = new_tournament(folder, bots=bots, **{"maps.set": "random", "maps.sizes": [18], "blocks": 1, "rounds": ROUNDS})
    games = 0
    began = time.perf_counter()

    class Few(Reporter):
        def finished(self, line: Any) -> None:
            nonlocal games
            games += 1
            tournament.stop.soon = games >= HOSTED

    tournament.play(Few())
    wall = (time.perf_counter() - began) / max(1, games)
    troubles = {seat.outcome.reason for line in tournament.lines for seat in line.seats} - {"finished"}
    median = np.median([seat.ms_median for line in tournament.lines for seat in line.seats])
    note = f"with starting four programs per game; {median:.1f} ms a move; {', '.join(sorted(troubles)) or 'no forfeits'}"
    return Row("the same four over HTTP, wall time", f"{60 / wall:.1f} games/min", "", note)


def _tables(folder: Path) -> list[Row]:
    """Measure the time from a file of `RESULTS` results to the printed table."""
    found = []
    for count in (4, 12):
        labels = [f"bot-{number}" for number in range(count)]
        rng = np.random.default_rng(1)
        ratings = {label: 40.0 * number for number, label in enumerate(labels)}
        seatings = [rotation for start in range(0, count, 4) for rotation in rotations(labels[start : start + 4])]
        if count > 4:  # so that all meet
            seatings = [rng.permutation(labels)[:4].tolist() for _ in range(40)]
        games = made_up(seatings, ratings, RESULTS // len(seatings), rng)
        path = folder / f"{count}.jsonl"
        path.write_text("".join(game.encode() + "\n" for game in games))
        began = time.perf_counter()
        show(Console(file=io.StringIO()), summarise(read_results(path), labels))
        spent = time.perf_counter() - began
        found.append(Row(f"table of {len(games)} results, {count} bots", f"{spent:.1f} s", "", "wanted 20; 1000 resamples"))
    return found
