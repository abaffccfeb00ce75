"""Helpers of the tests of the arena: scripted bots, good and bad, and games between them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from tests.support.paths import BOTS
from vindibot.arena.games import play_task
from vindibot.arena.results import GameLine
from vindibot.arena.schedule import GameTask, MapSet, Schedule
from vindibot.arena.seats.entrants import read_entrants
from vindibot.arena.settings import ArenaSettings
from vindibot.config.load import load_config
from vindibot.engine import forkserver

TOP = BOTS.parent.parent


def line_bot(mode: str = "good", *more: object) -> str:
    """Return a bot that is a program of the line protocol."""
    return " ".join([f"stdio:'{sys.executable}' '{BOTS / 'line_bot.py'}' {mode}", *(f"'{word}'" for word in more)])


def web_bot(mode: str = "good", *more: object) -> str:
    """Return a bot that is a program that speaks HTTP."""
    return " ".join([f"http:'{sys.executable}' '{BOTS / 'web_bot.py'}' '{mode}'", *(f"'{word}'" for word in more)])


def bad_trait(folder: Path, name: str, **parameters: object) -> str:
    """Write a bot file whose only trait is one of `bad_traits`, and return its path."""
    (folder / "bad_traits.py").write_text((BOTS / "bad_traits.py").read_text())
    path = folder / f"{name.lower()}.toml"
    lines = [f'{key} = "{value}"' if isinstance(value, str | Path) else f"{key} = {value}" for key, value in parameters.items()]
    path.write_text("\n".join([f'[traits.{name}]\nuse = "bad_traits:{name}"', *lines]) + "\n")
    return str(path)


def schedule(*bots: str, blocks: int = 1, rounds: int = 12, size: int = 10, seed: int = 5, **settings: Any) -> Schedule:
    """Return a tournament of these bots on small maps.

    `settings` are settings of the arena; in their names, two underscores stand for a dot.
    """
    given = {"bots": list(bots), "blocks": blocks, "rounds": rounds}
    given |= {key.replace("__", "."): value for key, value in settings.items()}
    config = load_config(ArenaSettings, None, given, environ={})
    return Schedule(config.settings, tuple(read_entrants(config)), MapSet(sizes=(size,), seed=seed), seed)


def first_task(*bots: str, logs: Path | None = None, **settings: Any) -> GameTask:
    """Return the first game of a tournament of these bots."""
    return next(schedule(*bots, logs="all", **settings).tasks(logs))


def first_game(*bots: str, logs: Path | None = None, **settings: Any) -> GameLine:
    """Play the first game of a tournament of these bots, and return its line."""
    return play_task(first_task(*bots, logs=logs, **settings)).line


@contextmanager
def nobody_left(notes: Path | None = None) -> Iterator[None]:
    """Check at the end of the block that no child process of ours runs, and no process whose id is in the file `notes`."""
    before = set(psutil.Process().children(recursive=True))
    yield
    more = [process for process in psutil.Process().children(recursive=True) if process not in before]
    numbers = [int(word) for word in notes.read_text().split()] if notes is not None and notes.exists() else []
    alive = [process for process in more if _alive(process)]
    for number in numbers:
        with suppress(psutil.NoSuchProcess):  # it may end at this moment
            alive.append(psutil.Process(number))
    _, alive = psutil.wait_procs(alive, timeout=20)
    alive = [process for process in alive if _alive(process)]  # a stopped parent collects no zombies
    assert not alive, alive


def _alive(process: psutil.Process) -> bool:
    try:
        named = " ".join(process.cmdline())
        forks = process.name() == forkserver.NAME
        return process.status() != psutil.STATUS_ZOMBIE and not forks and "resource_tracker" not in named
    except psutil.NoSuchProcess:
        return False
