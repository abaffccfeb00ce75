"""What a person can choose from: the bots and the maps that are at hand.

Whatever a page asks for is looked up here by an id that was handed out: no path ever comes from a page.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim.game import MAX_SIZE
from sim.generator import MIN_SIZE, GeneratorError, generate
from sim.maps import NAMES, Map, named_map
from vindibot.base import UsageError
from vindibot.config import LONGEST_NAME, load_bot, load_map, places, shipped_folder, short, standard_maps

#: The id of a fresh random map, and that of the map which the command names.
RANDOM, NAMED = "random", "named"
#: Seeds that are tried for a random map before giving up: few of them give none.
ATTEMPTS = 20
#: The keys that a bot's file may have.
_KEYS = {"name", "extends", "traits"}


@dataclass(frozen=True)
class BotOffer:
    """A bot's file. `where` tells it from others of its name. `problem` says why it cannot be read; whether its traits are
    sound is known when it is loaded."""

    id: str
    name: str
    path: Path
    where: str
    problem: str = ""


@dataclass(frozen=True)
class MapOffer:
    """A map under its id; `group` is what it stands under in a list. `size` is None for one that is still to be made."""

    id: str
    name: str
    group: str
    size: int | None = None


class Offers:
    """The bots and maps of one command. Raises `UsageError` for a bot or map that was named and cannot be."""

    def __init__(self, bots: Sequence[str] = (), map_choice: str = "") -> None:
        named = [Path(load_bot(bot).path) for bot in bots]
        #: Whether the command named bots.
        self.named = bool(named)
        self._named_map = load_map(map_choice)
        self.first_map = RANDOM if self._named_map is None else NAMED
        self._named_bots = tuple(dict.fromkeys(named))
        chosen = named or [Path(load_bot("seed").path)]
        found = {offer.path: offer.id for offer in self.bots()}
        #: The ids of the three bots that are offered first; who names fewer gets these in turn.
        self.chosen = tuple(found[chosen[number % len(chosen)]] for number in range(3))

    def bots(self) -> list[BotOffer]:
        """The bots that are there now: those that were named, then those of the current folder, then those that ship."""
        paths = dict.fromkeys([*self._named_bots, *(path.resolve() for path in _files())])
        offers = (_offer(path, path in self._named_bots) for path in paths)
        return [offer for offer in offers if offer is not None]

    def bot(self, offer_id: str) -> BotOffer:
        """The bot with this id. Raises `UsageError`."""
        for offer in self.bots():
            if offer.id == offer_id:
                return offer
        raise UsageError("this bot is not there any more: load the page anew")

    def maps(self) -> list[MapOffer]:
        """All maps: a fresh one, the one that was named, those with names, the standard set."""
        offers = [MapOffer(RANDOM, "a fresh random map", "")]
        if self._named_map is not None:
            offers.append(MapOffer(NAMED, self._named_map.name or "the map named on the command line", "", self._named_map.size))
        offers += [MapOffer(f"map:{name}", name, "Maps with a name", named_map(name).size) for name in NAMES]
        offers += [MapOffer(f"set:{one.name}", one.name, "The arena's standard set", one.size) for one in _standard()]
        return offers

    def map(self, offer_id: str, *, seed: int, size: int | None = None) -> Map:
        """The map with this id; `seed` and `size` (8..28, even) are for a random one. Raises `UsageError`."""
        if offer_id == RANDOM:
            return random_map(seed, size)
        if offer_id == NAMED and self._named_map is not None:
            return self._named_map
        kind, _, name = offer_id.partition(":")
        if kind == "map" and name in NAMES:
            return named_map(name)
        found = next((one for one in _standard() if kind == "set" and one.name == name), None)
        if found is None:
            raise UsageError("there is no such map")
        return found


def random_map(seed: int, size: int | None = None) -> Map:
    """The map of a seed, or of one close to it if that gives none. Raises `UsageError`."""
    if size is not None and not (MIN_SIZE <= size <= MAX_SIZE and size % 2 == 0):
        raise UsageError(f"a map has an even size from {MIN_SIZE} to {MAX_SIZE}, not {size}")
    for attempt in range(ATTEMPTS):
        try:
            return generate(seed + attempt, size)
        except GeneratorError as problem:
            last = problem
    raise UsageError(f"no map could be made: {last}")


def _standard() -> Sequence[Map]:
    return sorted(standard_maps(), key=lambda one: one.size)


def _files() -> Iterator[Path]:
    """Every file that a bot's name could mean, in the order in which names are looked up."""
    for place in places():
        for folder in (place, place / "bots"):
            if folder.is_dir():
                yield from sorted(folder.glob("*.toml"))


def _offer(path: Path, named: bool) -> BotOffer | None:
    """The bot in a file; None for a file that is something else."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, RecursionError):
        return None
    except tomllib.TOMLDecodeError as problem:
        # A slip in a bot's file: its owner is told, rather than left to wonder where it is.
        told = f"{short(path)}: this is not TOML: {problem}"
        return _offer_of(path, path.stem, told) if "[traits" in text or named else None
    if not (data.keys() <= _KEYS and ("traits" in data or "extends" in data)):
        return None
    name = data.get("name")
    return _offer_of(path, name[:LONGEST_NAME] if isinstance(name, str) and name.strip() else path.stem)


def _offer_of(path: Path, name: str, problem: str = "") -> BotOffer:
    own = short(path)
    where = "comes with vindibot" if path.is_relative_to(shipped_folder().resolve()) else own if own != str(path) else path.name
    return BotOffer(hashlib.blake2b(bytes(path), digest_size=6).hexdigest(), name, path, where, problem)
