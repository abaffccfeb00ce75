"""The data that an arena sends to other machines: a tournament's bots with their files, and single games.

`pack_entrants` makes the `Luggage` of a tournament, once. Another machine calls `unpack_entrants`. A `RemoteGame` then names its
bots by their labels. Only a variant of a bot (``vindibot tune``) sends its traits with each game.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sim import kernels
from vindibot.arena.schedule import GameTask, SeatTask
from vindibot.arena.seats.entrants import Entrant
from vindibot.cluster.bundles import digest, pack, unpack
from vindibot.config.files import shipped_folder
from vindibot.config.traits import DataPath, TraitSpec, data_paths, replaced_paths


@dataclass(frozen=True)
class Luggage:
    """The bots of a tournament with their files.

    `bundles` maps a digest to its bundle. `digests` maps the path of each folder of a bot on the arena's machine, and of each
    data file of its traits, to the digest of its bundle.
    """

    entrants: tuple[Entrant, ...]
    bundles: Mapping[str, bytes]
    digests: Mapping[str, str]


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
        """Return the seat with its bot from `entrants`, by label. A variant has the data files of this bot."""
        entrant = entrants[self.label]
        if self.traits and entrant.bot is not None:
            here = {spec.label: spec.parameters for spec in entrant.bot.traits}
            data = {label: {key: one for key, one in values.items() if data_paths({key: one})} for label, values in here.items()}
            traits = tuple(replace(one, parameters={**one.parameters, **data.get(one.label, {})}) for one in self.traits)
            entrant = replace(entrant, bot=replace(entrant.bot, traits=traits, digest=""))
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

    Raises `UsageError` if the folder or a data file of a bot is too large to be sent.
    """
    bundles: dict[str, bytes] = {}
    digests: dict[str, str] = {}

    def add(path: str) -> None:
        if path not in digests:
            data = pack(Path(path))
            digests[path] = digest(data)
            bundles[digests[path]] = data

    for bot in [entrant.bot for entrant in entrants if entrant.bot is not None]:
        for path in [path for spec in bot.traits for path in data_paths(spec.parameters)]:
            add(str(path))
        for folder in bot.folders if bot.has_own_traits else ():
            if not Path(folder).is_relative_to(shipped_folder()):
                add(folder)
    bare = tuple(replace(one, bot=replace(one.bot, origins={})) if one.bot is not None else one for one in entrants)
    return Luggage(bare, bundles, digests)


def cache_folder() -> Path:
    """Return the folder on this machine in which bundles are unpacked."""
    return kernels.cache_folder().parent / "bots"


def unpack_entrants(luggage: Luggage) -> dict[str, Entrant]:
    """Unpack the files of all bots, and return the bots by label. Nothing of a bot is imported.

    Raises `BundleError` if a bundle is damaged or cannot be unpacked.
    """
    found = {name: unpack(data, name, cache_folder()) for name, data in luggage.bundles.items()}
    entrants = {}

    def place(path: DataPath) -> DataPath:
        return DataPath(found[luggage.digests[path]] / Path(path).name)

    for entrant in luggage.entrants:
        here = entrant
        if (bot := entrant.bot) is not None:
            folders = tuple(str(found[luggage.digests[folder]]) for folder in bot.folders if folder in luggage.digests)
            traits = tuple(
                replace(spec, parameters={key: replaced_paths(value, place) for key, value in spec.parameters.items()})
                for spec in bot.traits
            )
            here = replace(entrant, bot=replace(bot, folders=folders, traits=traits))
        entrants[entrant.label] = here
    return entrants
