"""The people of one game: their links, who is there, the start, and the game that runs.

Each person has a link to one hero. A link is the address of the page and a token, which the browser keeps to itself: the token is
not in the path of any request. Several people have an organiser, with the link to the start page; a person who plays alone is the
organiser too. A person is there as long as its page asks for the state. No request waits for a change: a browser has only six
connections to a server, for all of its tabs.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from sim.game import SEATS
from vindibot.base import log
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.text import counted
from vindibot.challenge.game import ChallengeGame, GameSetup
from vindibot.challenge.offers import Offers
from vindibot.challenge.settings import LARGEST_SEED, ChallengeSettings, GameChoice
from vindibot.config.bots import Bot, load_bot
from vindibot.server.refusal import Refusal

#: Seconds after the last request of a page until its person counts as away, and seconds after the page was closed. A page that is
#: loaded again takes less time.
AWAY_SECONDS, CLOSED_SECONDS = 15.0, 2.0
#: Milliseconds per move for a person who is away.
AWAY_MS = 1000
#: Milliseconds per move for a person without a time limit: the largest limit of the server.
UNTIMED_MS = 86_400_000

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
    timer: asyncio.TimerHandle | None = None

    @property
    def present(self) -> bool:
        """Whether a page of this person is open."""
        return _now() < self.away_at

    def take(self, page: str) -> bool:
        """Let a page have this person's seat, unless another page has it and is open. Return whether the page has the seat."""
        if self.page is None or not self.present:
            self.page = page
        return self.page == page


class People:
    """The people who play the heroes `heroes` (0..3) together, and their games. `alone` is the name of a person who plays alone.

    `choice` is what they play. `start` begins a game; its argument loads the bots and the map, in a thread.
    """

    def __init__(
        self,
        settings: ChallengeSettings,
        offers: Offers,
        start: Callable[[Callable[[], GameSetup]], Awaitable[ChallengeGame]],
        choice: GameChoice,
        heroes: Sequence[int],
        alone: str = "",
    ) -> None:
        self.settings, self.choice = settings, choice
        self.people = [Person(hero, secrets.token_urlsafe(16), alone) for hero in heroes]
        #: Whether one person plays alone, and then sees the votes of the bots.
        self.alone = bool(alone)
        #: The token of the organiser's link.
        self.token = self.people[0].token if alone else secrets.token_urlsafe(16)
        for token in (self.token, *(person.token for person in self.people)):
            log.add_secret(token)
        #: The address of the page for other machines, or for this machine only.
        self.address = ""
        #: Why the last game did not begin, "" if it did.
        self.problem = ""
        self.limit_ms = 1000 * (settings.your_limit_s if alone else settings.seconds) or UNTIMED_MS
        self._offers, self._begin = offers, start
        self._game: ChallengeGame | None = None
        self._starting: asyncio.Task[None] | None = None
        #: The heroes that no person can play.
        self._free = [hero for hero in range(SEATS) if hero not in heroes]
        names = {offer.id: offer.name for offer in offers.bots()}
        self._bots = {hero: names.get(bot, "") for hero, bot in self._rivals(self._free).items()}

    def _rivals(self, heroes: Sequence[int]) -> dict[int, str]:
        """Return the ids of the bots that play `heroes` (0..3)."""
        return dict(zip(heroes, self.choice.bots, strict=True)) if self.choice.bots else self._offers.rivals(heroes)

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
        # Nobody waits for a person who plays alone: as soon as a page has asked, a phone may sleep for the time of a move.
        asleep = self.limit_ms / 1000 if self.alone and person.page is not None else 0.0
        self._expect(person, _now() + max(AWAY_SECONDS, asleep))
        if self.state == "waiting" and not self.problem and all(other.name and other.present for other in self.people):
            self.start()

    def closed(self, person: Person) -> None:
        """Note that a person's page was closed."""
        person.page = None
        self._expect(person, min(person.away_at, _now() + CLOSED_SECONDS))

    def _expect(self, person: Person, away_at: float) -> None:
        """Count a person as away from the time `away_at`, unless there are more requests of its page."""
        person.away_at = away_at
        if person.timer is not None:
            person.timer.cancel()
        person.timer = asyncio.get_running_loop().call_at(max(away_at, _now()), self._away)
        self._change_limits()

    def _away(self) -> None:
        if self.alone:
            self.end_game()
        self._change_limits()

    def _change_limits(self) -> None:
        """Give a person who is away less time for its moves, and a person who is back the usual time."""
        if self.game is not None and self.game.room is not None:
            for hero in self.game.setup.people:
                self.game.room.change_limit(self.game.room.seats[hero], self._limit_ms(self.game, hero))

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
        playing = {person.hero: person.name for person in self.people if person.name and person.present}
        if not playing:
            raise UsageError("nobody is here yet: wait until a person has opened a link and given a name")
        self.problem = ""
        self._starting = asyncio.create_task(self._start(playing), name="vindibot-challenge-start")

    async def _start(self, playing: dict[int, str]) -> None:
        try:
            self._game = await self._begin(lambda: self._load(playing))
        except VindibotError as problem:
            self.problem = problem.message
        except Exception as problem:
            self.problem = f"the game could not begin: {type(problem).__name__}: {problem}"
            _log.error(self.problem)
        finally:
            self._starting = None

    async def started(self) -> None:
        """Wait until the bots of a start are ready. Raises `UsageError` if the game cannot begin."""
        if self._starting is not None:
            await asyncio.wait((self._starting,))
        if self.problem:
            raise UsageError(self.problem)

    def _load(self, playing: dict[int, str]) -> GameSetup:
        choice = self.choice
        rivals = self._rivals([*self._free, *(person.hero for person in self.people if person.hero not in playing)])
        players: dict[int, str | Bot] = {hero: load_bot(self._offers.bot(bot).path) for hero, bot in rivals.items()} | playing
        seed = choice.map_seed if choice.map_seed is not None else secrets.randbelow(LARGEST_SEED)
        first, opening = self._offers.first(choice.map, [*playing], rounds=choice.rounds, seed=seed, size=choice.size)
        return GameSetup(
            players=tuple(players[hero] for hero in range(SEATS)),
            first=first,
            opening=opening,
            limit_ms=choice.limit_ms,
            person_limit_ms=self.limit_ms,
            seed=self.settings.seed if self.settings.seed is not None else secrets.randbits(48),
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
        if self.state in ("starting", "playing") and self._game is not None:
            self._game.leave()

    async def close(self) -> None:
        """End the game, and stop a start of a game."""
        self.end_game()
        for person in self.people:
            if person.timer is not None:
                person.timer.cancel()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)

    # -- state --

    def view(self) -> dict[str, Any]:
        """Return the state as JSON values, for everybody. It has no tokens."""
        absent = self.state == "over" and self.game is None
        heroes: list[dict[str, Any]] = [{"person": False, "name": name} for _, name in sorted(self._bots.items())]
        for person in self.people:
            heroes.insert(person.hero, {"person": True, "name": person.name, "here": person.present})
        return {
            "state": self.state,
            "problem": "the game could not begin: a bot did not join" if absent else self.problem,
            "alone": self.alone,
            "heroes": heroes,
            "game": None if self.game is None else self._view_of(self.game),
            "seconds": self.settings.seconds,
            "rounds": self.choice.rounds,
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
        return self.limit_ms if person.present else min(AWAY_MS, self.limit_ms)


def _now() -> float:
    return asyncio.get_running_loop().time()


def check_seats(people: int, bots: int) -> None:
    """Raise `UsageError` if several people leave too few seats for the bots that a command names."""
    free = SEATS - people
    if people > 1 and bots > free:
        seats = counted(free, "seat") if free else "no seat"
        raise UsageError(f"{people} people leave {seats} for bots, not {bots}: name fewer bots, or choose fewer people")
