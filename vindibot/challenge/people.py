"""Several people in one game: their links, who is there, the start, and the game that runs.

Each person has a link to one hero, and the organiser has the link to the start page. A link is the address of the page and a
token, which the browser keeps to itself: the token is not in the path of any request. A person is there as long as its page asks
for the state. No request waits for a change: a browser has only six connections to a server, for all of its tabs.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import Any

import structlog

from sim.game import SEATS
from vindibot.base import log
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.text import counted
from vindibot.challenge.game import ChallengeGame, GameSetup
from vindibot.challenge.host import Host
from vindibot.config.bots import Bot, load_bot
from vindibot.server.refusal import Refusal
from vindibot.server.room import Room, RoomObserver

#: Seconds after the last request of a page until its person counts as away, and seconds after the page was closed. A page that is
#: loaded again takes less time.
AWAY_SECONDS, CLOSED_SECONDS = 15.0, 4.0
#: Milliseconds per move for a person who is away.
AWAY_MS = 1000
#: Largest seed of a random map.
_SEEDS = 2**32

_log = structlog.get_logger("vindibot.challenge")


@dataclass(eq=False)
class Person:
    """A person, with the hero (0..3) and the token of its link.

    `name` is empty until the person has come. `away_at` is the time from which the person counts as away, without more requests.
    `page` is the id of the page that has the person's seat, None if any page may take it.
    """

    hero: int
    token: str
    name: str = ""
    away_at: float = float("-inf")
    page: str | None = None

    @property
    def here(self) -> bool:
        """Whether a page of this person is open."""
        return _now() < self.away_at

    def take(self, page: str) -> bool:
        """Let a page have this person's seat, unless another page has it and is open. Return whether the page has the seat."""
        if self.page is None or not self.here:
            self.page = page
        return self.page == page

    def seen(self) -> None:
        """Note a request of this person's page."""
        self.away_at = _now() + AWAY_SECONDS

    def closed(self) -> None:
        """Note that this person's page was closed."""
        self.page = None
        self.away_at = min(self.away_at, _now() + CLOSED_SECONDS)


class People(RoomObserver):
    """The people of one command ``vindibot challenge --people N``, and their games.

    `token` is the token of the organiser's link. Raises `UsageError` if the settings and the bots leave too few seats.
    """

    def __init__(self, host: Host) -> None:
        settings, offers = host.settings, host.offers
        self.settings = settings
        self.people = [Person(hero, secrets.token_urlsafe(16)) for hero in offers.heroes_of(settings.people)]
        self.token = secrets.token_urlsafe(16)
        for token in (self.token, *(person.token for person in self.people)):
            log.add_secret(token)
        #: The address of the page for other machines, or for this machine only.
        self.address = ""
        #: Why the last game did not begin, "" if it did.
        self.problem = ""
        self._host = host
        self._game: ChallengeGame | None = None
        self._starting: asyncio.Task[None] | None = None
        heroes = [person.hero for person in self.people]
        #: The heroes that no person can play.
        self._free = [hero for hero in range(SEATS) if hero not in heroes]
        names = {offer.id: offer.name for offer in offers.bots()}
        self._bots = {hero: names[bot] for hero, bot in offers.rivals(self._free).items()}

    # -- people --

    def person(self, token: str) -> Person | None:
        """Return the person with the link of this token; None if there is no such link."""
        return next((person for person in self.people if secrets.compare_digest(person.token.encode(), token.encode())), None)

    def is_organiser(self, token: str) -> bool:
        """Return whether this is the token of the organiser's link."""
        return secrets.compare_digest(self.token.encode(), token.encode())

    def link(self, person: Person) -> str:
        """Return the link of a person. A browser does not send the part after ``#`` to the server."""
        return f"{self.address}#{person.token}"

    def come(self, person: Person, name: str) -> None:
        """Note the name of a person who has come."""
        person.name = name
        self.seen(person)

    def seen(self, person: Person) -> None:
        """Note a request of a person's page. Begin the first game if all people are there."""
        person.seen()
        if self.state == "waiting" and not self.problem and all(other.name and other.here for other in self.people):
            self.start()

    # -- games --

    @property
    def game(self) -> ChallengeGame | None:
        """The game that runs, or else the last one. None before the first game has begun."""
        return self._game if self._game is not None and self._game.room is not None else None

    @property
    def state(self) -> str:
        """The state: "waiting" before the first game, "starting", "playing", or "over" after a game."""
        if self._starting is not None:
            return "starting"
        if self._game is None:
            return "waiting"
        return "over" if self._game.closed.is_set() else "playing" if self._game.room is not None else "starting"

    def start(self) -> None:
        """Begin a game with the people who are there. Bots play the other heroes.

        Raises `UsageError` if no game can begin now.
        """
        if self.state not in ("waiting", "over"):
            raise UsageError("the game has begun already")
        playing = {person.hero: person.name for person in self.people if person.name and person.here}
        if not playing:
            raise UsageError("nobody is here yet: wait until a person has opened a link and given a name")
        self.problem = ""
        self._starting = asyncio.create_task(self._start(playing), name="vindibot-challenge-start")

    async def _start(self, playing: dict[int, str]) -> None:
        try:
            self._game = await self._host.start(lambda: self._load(playing))
        except VindibotError as problem:
            self.problem = problem.message
        except Exception as problem:
            self.problem = f"the game could not begin: {type(problem).__name__}: {problem}"
            _log.error(self.problem)
        finally:
            self._starting = None

    def _load(self, playing: dict[int, str]) -> GameSetup:
        settings, offers = self.settings, self._host.offers
        absent = [person.hero for person in self.people if person.hero not in playing]
        rivals = offers.rivals([*self._free, *absent])
        players: dict[int, str | Bot] = {**playing, **{hero: load_bot(offers.bot(bot).path) for hero, bot in rivals.items()}}
        first, opening = offers.first(offers.first_map, [*playing], rounds=settings.rounds, seed=secrets.randbelow(_SEEDS))
        return GameSetup(
            players=tuple(players[hero] for hero in range(SEATS)),
            first=first,
            opening=opening,
            limit_ms=settings.limit_ms,
            person_limit_ms=1000 * settings.seconds,
            seed=self._host.new_seed(),
            together=True,
        )

    def move(self, person: Person, direction: int, turn: int) -> None:
        """Play the move (0..4) of a person for a turn of the game that runs. A second move for the same turn is not played.

        Raises `Refusal` if the person does not play, or if it is another hero's turn.
        """
        game = self.game
        if game is None or game.room is None or person.hero not in game.setup.people:
            raise Refusal(404, "You do not play in a game now")
        game.room.move(game.room.seats[person.hero], direction, turn).cancel()  # the events of the game show the next state

    def end_game(self) -> None:
        """End the game that runs, if there is one."""
        if self.state == "playing" and self._game is not None:
            self._game.leave()

    async def close(self) -> None:
        """Stop a start of a game."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)

    # -- state --

    def view(self) -> dict[str, Any]:
        """Return the state as JSON values, for everybody. It has no tokens."""
        absent = self.state == "over" and self.game is None
        heroes: list[dict[str, Any]] = [{"person": False, "name": name} for _, name in sorted(self._bots.items())]
        for person in self.people:
            heroes.insert(person.hero, {"person": True, "name": person.name, "here": person.here})
        return {
            "state": self.state,
            "problem": "the game could not begin: a bot did not join" if absent else self.problem,
            "heroes": heroes,
            "game": None if self.game is None else self._view_of(self.game),
            "seconds": self.settings.seconds,
            "rounds": self.settings.rounds,
        }

    def _view_of(self, game: ChallengeGame) -> dict[str, Any]:
        """Return the state of a game that has begun: its id, the heroes of people, and the time for the current move."""
        room = game.room
        assert room is not None
        return {
            "id": room.id,
            "people": sorted(game.setup.people),
            "turn": room.turn,
            "left_ms": room.left_ms(),
            "limits_ms": [self._limit_ms(game, hero) for hero in range(SEATS)],
        }

    def _limit_ms(self, game: ChallengeGame, hero: int) -> int:
        """Return the time limit of a hero (0..3) in milliseconds per move."""
        person = next((person for person in self.people if person.hero == hero), None)
        if person is None or hero not in game.setup.people:
            return game.setup.limit_ms
        return game.setup.person_limit_ms if person.here else min(AWAY_MS, game.setup.person_limit_ms)

    # -- events of the rooms --

    def played(self, room: Room, move: int) -> None:
        """See `RoomObserver`. A person who is away gets less time for its next moves."""
        game = self.game
        if game is not None and game.room is room:
            for hero in game.setup.people:
                room.seats[hero].time_limit_ms = self._limit_ms(game, hero)


def _now() -> float:
    return asyncio.get_running_loop().time()


def check_seats(people: int, bots: int) -> None:
    """Raise `UsageError` if several people leave too few seats for the bots that a command names."""
    free = SEATS - people
    if people > 1 and bots > free:
        seats = counted(free, "seat") if free else "no seat"
        raise UsageError(f"{people} people leave {seats} for bots, not {bots}: name fewer bots, or choose fewer people")
