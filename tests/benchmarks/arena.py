"""The arena: games per minute, of bots that ship and of bots with code of their own."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from sim.kernels import warm
from vindibot.arena.games import load_games, play_task
from vindibot.arena.referee import GameRun, line_of, play
from vindibot.arena.schedule import GameTask
from vindibot.arena.seats.bots import local_seat
from vindibot.arena.settings import ArenaSettings
from vindibot.arena.tournament import Tournament, prepare
from vindibot.config.bots import load_bot, make_importable
from vindibot.config.load import load_config
from vindibot.devtools.scaffold import write_project

from . import Row, sized

#: Number of games of four seeds in process.
GAMES = sized(20, 2)
#: Number of rounds of these games.
ROUNDS = sized(300, 20)
#: Number of games of bots with code of their own.
OWN = sized(8, 1)


def rows() -> list[Row]:
    """Return all measurements of the arena."""
    load_bot("seed").build()  # imported so that its kernels are loaded too
    warm()
    with tempfile.TemporaryDirectory() as folder:
        return [
            *_in_process(Path(folder)),
            _in_children(Path(folder)),
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


def _in_process(folder: Path) -> list[Row]:
    """Measure games of four seeds on 18x18: their processor time."""
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
    return [
        Row(f"four seeds, 18x18, {ROUNDS} rounds, in process", f"{60 / spent:.0f} games/min and core", "", "wanted 120"),
        Row("  per ply", f"{spent * 1e6 / (4 * ROUNDS):.0f} us"),
    ]


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
