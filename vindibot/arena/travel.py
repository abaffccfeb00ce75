"""The data that an arena sends to other machines: a tournament's bots with their files, and single games.

`pack_entrants` makes the `Luggage` of a tournament, once. Another machine calls `unpack_entrants`, which also checks that every
bot can play there. A `RemoteGame` then names its bots by their labels. Only a variant of a bot (``vindibot tune``) sends its
traits with each game.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sim import kernels
from vindibot.arena.bundles import digest, pack, unpack
from vindibot.arena.entrants import Entrant, files_digest
from vindibot.arena.schedule import GameTask, SeatTask
from vindibot.config import TraitSpec, bot_digest, holds, shipped_folder


@dataclass(frozen=True)
class Luggage:
    """The bots of a tournament with their files.

    `bundles` maps a digest to its bundle. `folders` maps the folder of a bot on the arena's machine to the digest of its bundle.
    """

    entrants: tuple[Entrant, ...]
    bundles: Mapping[str, bytes]
    folders: Mapping[str, str]


@dataclass(frozen=True)
class RemoteSeat:
    """A seat of a game for another machine: the label of its bot, and the seed.

    `traits` has the traits of a variant, which replace those of the bot with this label. It is empty if the bot is no variant.
    """

    label: str
    seed: int
    traits: tuple[TraitSpec, ...] = ()

    @classmethod
    def of(cls, seat: SeatTask) -> RemoteSeat:
        """Return the seat of `seat`. A bot without a digest is a variant (see `vindibot.tuning.space`)."""
        bot = seat.entrant.bot
        return cls(seat.entrant.label, seat.seed, bot.traits if bot is not None and not bot.digest else ())

    def task(self, entrants: Mapping[str, Entrant]) -> SeatTask:
        """Return the seat with its bot from `entrants`, by label."""
        entrant = entrants[self.label]
        if self.traits and entrant.bot is not None:
            entrant = replace(entrant, bot=replace(entrant.bot, traits=self.traits, digest=""))
        return SeatTask(entrant, self.seed)


@dataclass(frozen=True)
class RemoteGame:
    """A game for another machine: the task without its seats, and the seats."""

    task: GameTask
    seats: tuple[RemoteSeat, ...]

    @classmethod
    def of(cls, task: GameTask) -> RemoteGame:
        """Return the game of `task`, to be sent to another machine."""
        return cls(replace(task, seats=()), tuple(RemoteSeat.of(seat) for seat in task.seats))

    def with_entrants(self, entrants: Mapping[str, Entrant], logs: str) -> GameTask:
        """Return the task with its seats. `logs` is the folder for the output of bots."""
        return replace(self.task, seats=tuple(seat.task(entrants) for seat in self.seats), logs=logs)


def pack_entrants(entrants: Sequence[Entrant]) -> Luggage:
    """Return the luggage of a tournament. The folders of a bot are packed only if the bot has traits of its own.

    Raises `UsageError` if the folder of a bot is too large to be sent.
    """
    bundles: dict[str, bytes] = {}
    folders: dict[str, str] = {}
    for entrant in entrants:
        if entrant.bot is None or not entrant.bot.has_own_traits:
            continue
        for folder in entrant.bot.folders:
            if folder not in folders and not Path(folder).is_relative_to(shipped_folder()):
                data = pack(Path(folder))
                folders[folder] = digest(data)
                bundles[folders[folder]] = data
    bare = tuple(replace(one, bot=replace(one.bot, origins={})) if one.bot is not None else one for one in entrants)
    return Luggage(bare, bundles, folders)


def cache_folder() -> Path:
    """Return the folder on this machine in which bundles are unpacked."""
    return kernels.cache_folder().parent / "bots"


def unpack_entrants(luggage: Luggage) -> tuple[dict[str, Entrant], list[str]]:
    """Unpack the files of all bots. Return the bots by label, and the reasons why some of them cannot play on this machine.

    Raises `BundleError` if a bundle is damaged or cannot be unpacked.
    """
    found = {name: unpack(data, name, cache_folder()) for name, data in luggage.bundles.items()}
    entrants, problems = {}, list[str]()
    for entrant in luggage.entrants:
        here = entrant
        if entrant.bot is not None:
            folders = (luggage.folders[folder] for folder in entrant.bot.folders if folder in luggage.folders)
            here = replace(entrant, bot=replace(entrant.bot, folders=tuple(str(found[name]) for name in folders)))
        entrants[entrant.label] = here
        problems += [f"bot {entrant.label}: {problem}" for problem in _problems(here)]
    return entrants, problems


def _problems(entrant: Entrant) -> list[str]:
    """Return the reasons why a bot cannot play on this machine."""
    if entrant.bot is not None:
        try:
            entrant.bot.build()
        except Exception as problem:  # modules of users may raise anything
            return [f"it cannot be built: {type(problem).__name__}: {problem}"]
        if bot_digest(entrant.bot.traits, entrant.bot.folders) != entrant.bot.digest:
            return ["its traits come from a package that differs from the one on the arena's machine"]
        return []
    if not entrant.command:
        return []
    program, folder = entrant.command[0], Path(entrant.folder)
    if not holds(folder.is_dir):
        return [f"there is no folder {folder}"]
    if shutil.which(program) is None:
        return [f"there is no program {program}"]
    if files_digest(entrant.command, folder) != entrant.files:
        return ["the files that its command names differ from those on the arena's machine"]
    return []
