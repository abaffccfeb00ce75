"""Checks whether the bots of a tournament can play on this machine. A bot with traits of its own is built in a child process."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vindibot.arena.seats.bots import needs_worker
from vindibot.arena.seats.entrants import Entrant, files_digest
from vindibot.config.files import holds
from vindibot.config.settings import cores
from vindibot.config.signature import bot_digest
from vindibot.processes.child import Child
from vindibot.processes.ending import ChildEnded, ChildLate
from vindibot.processes.frames import DONE
from vindibot.processes.inside import Owner
from vindibot.processes.requests import Needs

#: What a child runs, and the name of its process.
RUN, NAME = "vindibot.cluster.checks:serve", "vindibot-check"
#: Seconds that a child may take to import a bot's modules and to build the bot.
CHECK_SECONDS = 40.0
#: Number of attempts to build a bot if its process ends.
ATTEMPTS = 2


def problems_of(entrants: Sequence[Entrant]) -> list[str]:
    """Return the reasons why some of these bots cannot play on this machine."""
    with ThreadPoolExecutor(cores()) as pool:
        found = pool.map(_problem, entrants)
        return [f"bot {entrant.label}: {problem}" for entrant, problem in zip(entrants, found, strict=True) if problem]


def _problem(entrant: Entrant) -> str:
    """Return the reason why a bot cannot play on this machine, empty if it can play."""
    if needs_worker(entrant):
        return _problem_in_child(entrant)
    if entrant.bot is not None:
        return _problem_of_traits(entrant)
    return _problem_of_program(entrant) if entrant.command else ""


def _problem_in_child(entrant: Entrant) -> str:
    assert entrant.bot is not None
    for _ in range(ATTEMPTS):
        try:
            with Child(RUN, pickle.dumps(entrant), needs=Needs(entrant.bot.folders, entrant.bot.modules), name=NAME) as child:
                return child.receive(CHECK_SECONDS).text
        except ChildLate:
            return f"it cannot be built in {CHECK_SECONDS:.0f} s"
        except ChildEnded as ended:  # a user may have killed it
            problem = f"it cannot be built: its process ended with {ended.ending}"
    return problem


def serve(owner: Owner) -> None:
    """Build the bot of the `Entrant` in the setup, and send the reason why it cannot play on this machine."""
    owner.send(DONE, _problem_of_traits(owner.setup_object()).encode(errors="replace"))


def _problem_of_traits(entrant: Entrant) -> str:
    """Build a bot in this process. Return the reason why it cannot play on this machine."""
    bot = entrant.bot
    assert bot is not None
    try:
        bot.build()
    except Exception as problem:  # modules of users may raise anything
        return f"it cannot be built: {type(problem).__name__}: {problem}"
    if bot_digest(bot.traits, bot.folders) != bot.digest:
        return "its traits come from a package that differs from the one on the arena's machine"
    return ""


def _problem_of_program(entrant: Entrant) -> str:
    program, folder = entrant.command[0], Path(entrant.folder)
    if not holds(folder.is_dir):
        return f"there is no folder {folder}"
    if shutil.which(program) is None:
        return f"there is no program {program}"
    if files_digest(entrant.command, folder) != entrant.files:
        return "the files that its command names differ from those on the arena's machine"
    return ""
