"""The bots and maps that the page of challenges offers.

An offer is a bot or a map with an id. The page names bots and maps by these ids, never by paths.
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
from vindibot.config import LONGEST_NAME, BotFile, load_bot, load_map, places, shipped_folder, short, standard_maps

#: The ids of a new random map, and of the map that the command names.
RANDOM, NAMED = "random", "named"
#: Number of seeds that are tried for a random map. The generator fails for a few seeds.
ATTEMPTS = 20


@dataclass(frozen=True)
class BotOffer:
    """A bot file. `where` says where the file is, since two bots may have the same name.

    If the file is not TOML, `problem` is the reason, else it is empty. The traits in the file are checked only when a game
    begins.
    """

    id: str
    name: str
    path: Path
    where: str
    problem: str = ""


@dataclass(frozen=True)
class MapOffer:
    """A map. `group` is the heading above the map in a list. `size` is None for a map that is not generated yet."""

    id: str
    name: str
    group: str
    size: int | None = None


class Offers:
    """The bots and maps that one command offers.

    `bots` and `map_choice` are the bots and the map named on the command line. Raises `UsageError` if one of them cannot be
    loaded.
    """

    def __init__(self, bots: Sequence[str] = (), map_choice: str = "") -> None:
        named = [Path(load_bot(bot).path) for bot in bots]
        #: Whether the command named bots.
        self.named = bool(named)
        self._named_map = load_map(map_choice)
        self.first_map = RANDOM if self._named_map is None else NAMED
        self._named_bots = tuple(dict.fromkeys(named))
        chosen = named or [Path(load_bot("seed").path)]
        found = {offer.path: offer.id for offer in self.bots()}
        #: The ids of the three bots that the page selects first. If the command names only one or two bots, they take the seats
        #: in turn.
        self.chosen = tuple(found[chosen[number % len(chosen)]] for number in range(3))

    def bots(self) -> list[BotOffer]:
        """Return the bots that exist now: those that the command names, those in the current folder, then the shipped bots."""
        paths = dict.fromkeys([*self._named_bots, *(path.resolve() for path in _files())])
        offers = (_offer(path, path in self._named_bots) for path in paths)
        return [offer for offer in offers if offer is not None]

    def bot(self, offer_id: str) -> BotOffer:
        """Return the bot with this id. Raises `UsageError` if there is no such bot any more."""
        for offer in self.bots():
            if offer.id == offer_id:
                return offer
        raise UsageError("this bot file no longer exists: load the page again")

    def maps(self) -> list[MapOffer]:
        """Return all maps: a new random map, the map that the command names, the maps with names, the standard set."""
        offers = [MapOffer(RANDOM, "a new random map", "")]
        if self._named_map is not None:
            offers.append(MapOffer(NAMED, self._named_map.name or "the map named on the command line", "", self._named_map.size))
        offers += [MapOffer(f"map:{name}", name, "Maps with a name", named_map(name).size) for name in NAMES]
        standard = sorted(standard_maps(), key=lambda one: one.size)
        offers += [MapOffer(f"set:{one.name}", one.name, "The arena's standard set", one.size) for one in standard]
        return offers

    def map(self, offer_id: str, *, seed: int, size: int | None = None) -> Map:
        """Return the map with this id. `seed` and `size` (8..28, even) apply to a random map. Raises `UsageError`."""
        if offer_id == RANDOM:
            return random_map(seed, size)
        if offer_id == NAMED and self._named_map is not None:
            return self._named_map
        kind, _, name = offer_id.partition(":")
        if kind == "map" and name in NAMES:
            return named_map(name)
        for one in standard_maps():
            if kind == "set" and one.name == name:
                return one
        raise UsageError("there is no such map")


def random_map(seed: int, size: int | None = None) -> Map:
    """Return the random map of a seed. `size` is its number of rows (8..28, even), None for any size.

    If the generator fails with this seed, try the next seeds. Raises `UsageError` for a wrong size, or if no map is found.
    """
    if size is not None and not (MIN_SIZE <= size <= MAX_SIZE and size % 2 == 0):
        raise UsageError(f"a map has an even size from {MIN_SIZE} to {MAX_SIZE}, not {size}")
    for attempt in range(ATTEMPTS):
        try:
            return generate(seed + attempt, size)
        except GeneratorError as problem:
            last = problem
    raise UsageError(f"no map could be made: {last}")


def _files() -> Iterator[Path]:
    """Yield all files that may be bot files, in the order in which the names of bots are looked up."""
    for place in places():
        for folder in (place, place / "bots"):
            if folder.is_dir():
                yield from sorted(folder.glob("*.toml"))


def _offer(path: Path, named: bool) -> BotOffer | None:
    """Return the offer of a bot file; None if the file is no bot file. `named` says whether the command names the file."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, RecursionError):
        return None
    except tomllib.TOMLDecodeError as problem:
        # The page also lists a bot file that has an error, and gives the reason.
        reason = f"{short(path)}: this is not TOML: {problem}"
        return _offer_of(path, path.stem, reason) if "[traits" in text or named else None
    if not (data.keys() <= BotFile.model_fields.keys() and ("traits" in data or "extends" in data)):
        return None
    name = data.get("name")
    return _offer_of(path, name[:LONGEST_NAME] if isinstance(name, str) and name.strip() else path.stem)


def _offer_of(path: Path, name: str, problem: str = "") -> BotOffer:
    own = short(path)
    where = "comes with vindibot" if path.is_relative_to(shipped_folder().resolve()) else own if own != str(path) else path.name
    return BotOffer(hashlib.blake2b(bytes(path), digest_size=6).hexdigest(), name, path, where, problem)
