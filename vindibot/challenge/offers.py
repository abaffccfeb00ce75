"""The bots and maps that the page of challenges offers.

An offer is a bot or a map with an id. The page names bots and maps by these ids, never by paths.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim.game import MAX_SIZE, PLIES_PER_ROUND, Games
from sim.generator import MIN_SIZE, GeneratorError, generate
from sim.maps import NAMES, Map, map_of, named_map
from vindibot.base.errors import UsageError
from vindibot.config.bots import LONGEST_NAME, BotFile, bot_of_player, load_bot, named_after
from vindibot.config.files import places, shipped_folder, short
from vindibot.config.maps import load_map, standard_maps
from vindibot.games.files.recorded_turn import Continuation
from vindibot.games.position import Position

#: The ids of a new random map, of the map that the command names, and of the turn from which the command goes on.
RANDOM, NAMED, TURN = "random", "named", "turn"
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

    `bots` and `map_choice` are the bots and the map named on the command line. `start` is the turn of an earlier game from which
    games go on, None for no such turn. Then the page first selects the players of the earlier game, unless `bots` names others.
    Raises `UsageError` if a bot or the map cannot be loaded.
    """

    def __init__(self, bots: Sequence[str] = (), map_choice: str = "", start: Continuation | None = None) -> None:
        self.start = start
        #: The players of the earlier game that are no bots here. The bot seed takes the place of each.
        self.missing: list[str] = []
        self._earlier = start is not None and not bots
        if start is not None and not bots:
            bots = [self._player(start.history.names[hero]) for hero in sorted(start.others)]
        named = [Path(load_bot(bot).path) for bot in bots]
        #: Whether the command chose bots.
        self.named = bool(named)
        self._named_map = load_map(map_choice)
        self.first_map = TURN if start is not None else RANDOM if self._named_map is None else NAMED
        self._named_bots = tuple(dict.fromkeys(named))
        chosen = named or [Path(load_bot("seed").path)]
        ids = {offer.path: offer.id for offer in self.bots()}
        #: The ids of the three bots that the page selects first. If the command names only one or two bots, they take the seats
        #: in turn.
        self.chosen = tuple(ids[chosen[number % len(chosen)]] for number in range(3))

    def _player(self, player: str) -> str:
        """Return the name of the bot for a player of the earlier game."""
        bot = bot_of_player(player)
        if bot is None:
            self.missing.append(player)
        return bot or "seed"

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
        """Return all maps: the board of the turn from which the command goes on, a new random map, the map that the command
        names, the maps with names, the standard set."""
        offers = [MapOffer(RANDOM, "a new random map", "")]
        if self.start is not None:
            name = f"turn {self.start.turn} of game {self.start.history.id}"
            offers.insert(0, MapOffer(TURN, name, "", int(self.start.history.first["size"].item(0))))
        unnamed = "the map named on the command line"
        return offers + [MapOffer(offer, board.name or unnamed, group, board.size) for offer, group, board in self._known_maps()]

    def _known_maps(self) -> Iterator[tuple[str, str, Map]]:
        """Yield the id, the group and the map of each offer whose map is neither random nor the board of a turn."""
        if self._named_map is not None:
            yield NAMED, "", self._named_map
        for name in NAMES:
            yield f"map:{name}", "Maps with a name", named_map(name)
        for board in sorted(standard_maps(), key=lambda board: board.size):
            yield f"set:{board.name}", "The arena's standard set", board

    def map(self, offer_id: str, *, seed: int, size: int | None = None) -> Map:
        """Return the map with this id. `seed` and `size` (8..28, even) apply to a random map. Raises `UsageError`."""
        if offer_id == TURN and self.start is not None:
            return map_of(self.start.first())
        if offer_id == RANDOM:
            return random_map(seed, size)
        for known, _, board in self._known_maps():
            if known == offer_id:
                return board
        raise UsageError("there is no such map")

    def first(
        self, offer_id: str, heroes: Collection[int], *, rounds: int, seed: int, size: int | None = None
    ) -> tuple[Games, Position | None]:
        """Return the first state of a game on the map with this id, and the part of an earlier game before it.

        `heroes` (0..3) are the heroes of people. `rounds` is the length of a game that does not go on from a turn. `seed` and
        `size` are those of `map`. Raises `UsageError`.
        """
        if offer_id != TURN or self.start is None:
            return self.map(offer_id, seed=seed, size=size).new_game(PLIES_PER_ROUND * rounds), None
        for hero in heroes:
            if self.start.crashed(hero):
                raise UsageError(f"hero {hero + 1} has crashed before this turn: choose another hero")
        return self.start.first(), self.start.opening

    def heroes_of(self, people: int) -> list[int]:
        """Return the heroes (0..3) that `people` people play: the first ones that have not crashed.

        If games go on from a turn of an earlier game, the hero of this turn comes first. Raises `UsageError` if too many heroes
        have crashed.
        """
        start = self.start
        heroes = [0, 1, 2, 3] if start is None else [hero for hero in (start.hero, *start.others) if not start.crashed(hero)]
        if len(heroes) < people:
            raise UsageError(f"only {len(heroes)} of 4 heroes can still move on this turn: choose fewer people")
        return sorted(heroes[:people])

    def rivals(self, heroes: Sequence[int]) -> dict[int, str]:
        """Return the ids of the bots that play the heroes without a person, by hero (0..3).

        These are the bots that the command names, in turn, else the players of the earlier game, else the bot seed.
        """
        if self._earlier and self.start is not None:
            others = sorted(self.start.others)
            return {hero: self.chosen[others.index(hero) if hero in others else 0] for hero in heroes}
        return {hero: self.chosen[number % len(self.chosen)] for number, hero in enumerate(heroes)}


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
                yield from sorted(folder.glob("[!.]*.toml"))


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
        return _offer_of(path, named_after(path), reason) if "[traits" in text or named else None
    if not (data.keys() <= BotFile.model_fields.keys() and ("traits" in data or "extends" in data)):
        return None
    name = data.get("name")
    return _offer_of(path, name[:LONGEST_NAME] if isinstance(name, str) and name.strip() else named_after(path))


def _offer_of(path: Path, name: str, problem: str = "") -> BotOffer:
    own = short(path)
    where = "comes with vindibot" if path.is_relative_to(shipped_folder().resolve()) else own if own != str(path) else path.name
    return BotOffer(hashlib.blake2b(bytes(path), digest_size=6).hexdigest(), name, path, where, problem)
