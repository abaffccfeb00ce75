"""The director of a league: it starts each game as soon as all bots of the game wait, and stores the result.

A bot of the league asks for an arena game as usual. Since the bot's key belongs to the league, the bot waits in the director
until one of its league games can begin. Before the league is started, bots join and wait, but no game begins. The order in which
bots join does not matter. Among the undecided games whose bots all wait, the game that comes first in the league's schedule
begins first.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

import structlog

from vindibot.base.errors import UsageError, VindibotError
from vindibot.league.league import League, State
from vindibot.league.standings import Fixture, FixtureResult
from vindibot.server.lobby import RANDOM_BOT, Lobby
from vindibot.server.match import Claim, Match, MatchResult
from vindibot.server.refusal import Refusal, closing_refusal, game_error
from vindibot.server.users import User

#: Seconds between two checks for absent bots.
CHECK_SECONDS = 1.0
#: Seconds within which a game must begin once all its bots wait. If the game does not begin, one of its bots has disconnected,
#: and the other bots wait again.
BEGIN_SECONDS = 5.0
#: Seconds without any filler after which random bots of the server play instead.
FILLER_SECONDS = 60.0
#: Largest number of clients of one bot that may wait at the same time.
MAX_CLAIMS = 8
#: A bot that crashes in this number of games of a day is not awaited any more on this day, until its client is back.
MAX_CRASHES = 2

OVER = "The league is over"

_log = structlog.get_logger("vindibot.league")


@dataclass(eq=False)
class Presence:
    """The presence of one bot: `claims` are its waiting clients, and `playing` is the number of its running games.

    `heroes` is the number of its heroes in a game. A bot is present if it plays, or if it has as many waiting clients as heroes.
    `last_seen` is the event loop's time at which the bot was last present, or minus infinity if it is no longer awaited. If the
    match day, or the league after a pause, began later, `last_seen` is the time of this beginning. `crashes` counts games of this
    day. The fillers of a league together have one presence.
    """

    heroes: int = 1
    claims: list[Claim] = field(default_factory=list)
    last_seen: float = 0.0
    playing: int = 0
    crashes: int = 0

    @property
    def present(self) -> bool:
        """Whether the bot plays, or can begin to play."""
        return self.playing > 0 or len(self.claims) >= self.heroes


class Director:
    """Plays one league in a lobby, as a `Matchmaker`. Call `start` and `close` in the lobby's event loop.

    Fillers are bots that play for missing bots, and are not in the standings. A filler is a client of the server, like the bots
    of the league. It waits here until a game needs it.
    """

    def __init__(self, league: League, lobby: Lobby) -> None:
        self.league = league
        self.running: dict[int, Match] = {}  # by the id() of the fixture
        self.fillers = Presence()
        self._lobby = lobby
        self._loop = asyncio.get_running_loop()
        self._bots = [Presence(2 if league.settings.table == "duel" else 1) for _ in league.names]
        self._clock_day = 0  # the match day for which the clock of absence runs
        self._by_user: dict[str, int] = {}
        self._fillers: dict[str, int] = {}  # the index of each filler's bot in the setting `fillers`, by its user's id
        self._fillers_used = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_check: asyncio.Handle | None = None
        self._saving: asyncio.Task[None] | None = None
        self._dirty = False

    def start(self) -> None:
        """Begin to accept clients."""
        self._restart_clock()
        self._take_place()
        self._tasks.add(self._loop.create_task(self._keep_checking()))

    def _take_place(self) -> None:
        """Take this league's place among the matchmakers of the lobby.

        A league that is over has the last place. So a bot that is also in another league plays there first.
        """
        if self in self._lobby.matchmakers:
            self._lobby.matchmakers.remove(self)
        self._lobby.matchmakers.insert(len(self._lobby.matchmakers) if self.league.over else 0, self)

    async def close(self) -> None:
        """Stop, and store the league. Running games get no result, and are played again after a restart."""
        if self in self._lobby.matchmakers:
            self._lobby.matchmakers.remove(self)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._next_check is not None:
            self._next_check.cancel()
        self._refuse_all(closing_refusal())
        with suppress(VindibotError):  # the log has it
            await self.store()

    # ---- The matchmaker ----

    def find_bot(self, key: str) -> str | None:
        """See `Matchmaker`."""
        number = self.league.member(key)
        return None if number is None else self.league.names[number]

    def bind(self, key: str, user: User) -> None:
        """See `Matchmaker`."""
        number = self.league.member(key)
        if number is not None:
            self._by_user[user.id] = number

    def number_of(self, user: User) -> int | None:
        """Return the index of a user's bot in the league, or None. A user is known once its bot has joined."""
        return self._by_user.get(user.id)

    def add_filler(self, user: User, bot: int) -> None:
        """Let the clients of this user be fillers. `bot` is the index of the user's bot in the setting `fillers`."""
        self._fillers[user.id] = bot

    def _presence(self, user: User) -> Presence | None:
        """Return the presence of a user's bot or of the fillers, None for a user that is not of this league."""
        number = self._by_user.get(user.id)
        return self._bots[number] if number is not None else self.fillers if user.id in self._fillers else None

    def accept(self, claim: Claim) -> bool:
        """Let a client wait here if its bot belongs to this league. Return whether it belongs to this league.

        Raises `Refusal` if the league is over, or if too many clients of the bot wait already.
        """
        presence = self._presence(claim.user)
        if presence is None:
            return False
        if self.league.over:
            raise game_error(OVER)
        if len(presence.claims) >= MAX_CLAIMS and presence is not self.fillers:
            raise game_error("Too many clients of this bot are waiting already")
        presence.claims.append(claim)
        self._check_soon()
        return True

    def release(self, claim: Claim) -> None:
        """See `Matchmaker`."""
        presence = self._presence(claim.user)
        if presence is not None and claim in presence.claims:
            self._update_last_seen()
            presence.claims.remove(claim)

    def waits_for(self, user: User) -> str:
        """See `Matchmaker`."""
        number, league = self._by_user.get(user.id), self.league
        if number is None or not self._bots[number].claims:
            return ""
        if league.state == "waiting":
            return f"the league {league.name} has not started; {len(self.present())} of {len(league.names)} are here"
        if league.state == "paused":
            following = league.after_break
            return f"the league {league.name} {f'has a break; next: {following}' if following else 'is paused'}"
        awaited = ", ".join(self.awaited())
        return f"{league.name}, {league.day_name(league.day)}: waiting for {awaited or 'games of other bots'}"

    # ---- State ----

    def waiting(self) -> dict[str, int]:
        """Return the number of waiting clients per bot, by the bot's name. Bots without a waiting client are left out."""
        return {name: len(bot.claims) for name, bot in zip(self.league.names, self._bots, strict=True) if bot.claims}

    def missing(self) -> list[str]:
        """Return the names of the bots that still have games to play, but are absent: they neither play nor can begin a game."""
        return [self.league.names[number] for number in self._absent(self.league.pending())]

    def awaited(self) -> dict[str, int]:
        """Return for how many seconds each absent bot is still awaited for its games of the present day, by the bot's name.

        Then these games go on without the bot. If the league does not run, no bot is awaited.
        """
        if self.league.state != "running":
            return {}
        end = self.league.settings.absence_timeout_s - self._loop.time()
        numbers = self._absent(self.league.pending_today())
        return {self.league.names[number]: math.ceil(max(0, end + self._bots[number].last_seen)) for number in numbers}

    def _absent(self, fixtures: Sequence[Fixture]) -> list[int]:
        entrants = {number for fixture in fixtures for number in fixture.entrants}
        return [number for number in sorted(entrants) if not self._bots[number].present]

    def present(self) -> list[str]:
        """Return the names of the bots that play or can begin a game, in the order of the roster."""
        return [name for name, bot in zip(self.league.names, self._bots, strict=True) if bot.present]

    def reversible(self) -> dict[str, int]:
        """Return the number of games that `undo_absences` would let each bot play, by the bot's name. Other bots are left out."""
        games = self.league.reversible(self.running)
        numbers = [number for fixture in games if fixture.result is not None for number in fixture.result.absent]
        return {self.league.names[number]: numbers.count(number) for number in sorted(set(numbers))}

    def room_id(self, fixture: Fixture) -> str:
        """Return the id of the running game of this fixture, "" if the game does not run."""
        match = self.running.get(id(fixture))
        return match.room.id if match is not None and match.room is not None else ""

    # ---- Orders of the organiser ----

    def set_state(self, state: State) -> None:
        """Set the state of the league: "running", "paused" or "over". Running games are played to their end.

        If games may begin again, the clock of absence begins anew. Raises `UsageError` if the league is over already.
        """
        if self.league.over:
            raise UsageError("the league is over")
        if state == self.league.state:
            return
        self.league.state = state
        _log.info(f"the league is {state}", league=self.league.name)
        if self.league.over:
            self._finish()
        self._go_on()

    def skip_absent(self) -> None:
        """Let the games of this day go on without the bots that are awaited. A bot whose client comes back plays again.

        Raises `UsageError` if no bot is awaited.
        """
        absent = [self.league.names.index(name) for name in self.awaited()]
        if not absent:
            raise UsageError("no bot is awaited now")
        for number in absent:
            self._bots[number].last_seen = -math.inf
        self.check()

    def undo_absences(self, bot: str | None = None) -> None:
        """Let the games be played that were decided against absent bots, see `League.undo_absences`.

        The clock of absence begins anew. Raises `UsageError` if there is nothing to undo.
        """
        games = self.league.undo_absences(bot, self.running)
        _log.info("games are no longer decided against absent bots", league=self.league.name, games=len(games))
        self._take_place()
        self._go_on()

    def _go_on(self) -> None:
        self._restart_clock()
        self._save_soon()
        self._check_soon()

    def _restart_clock(self) -> None:
        self._clock_day = self.league.day
        for presence in (self.fillers, *self._bots):
            presence.last_seen, presence.crashes = self._loop.time(), 0

    # ---- Starting games ----

    def _check_soon(self) -> None:
        if self._next_check is None:
            self._next_check = self._loop.call_soon(self._start_ready_games)

    def _start_ready_games(self) -> None:
        self._next_check = None
        self._update_last_seen()
        if self.league.state == "running" and any(bot.claims for bot in self._bots):
            for fixture in self.league.pending_today() if self.league.settings.breaks else self.league.pending():
                if self._can_begin(fixture):
                    self._begin(fixture)

    def _can_begin(self, fixture: Fixture, absent: Sequence[int] = ()) -> bool:
        """Return whether the entrants but those in `absent` wait, and enough fillers, or random bots may play instead."""
        needed = sum(number is None or number in absent for number in fixture.seats)
        return (
            len(self.running) < self.league.settings.parallel
            and id(fixture) not in self.running
            and all(len(self._bots[n].claims) >= fixture.heroes_of(n) for n in fixture.entrants if n not in absent)
            and (len(self._fillers_in_turn(needed)) == needed or not self._fillers_expected())
        )

    def _fillers_expected(self) -> bool:
        """Return whether more fillers may soon wait."""
        quiet = self._loop.time() - self.fillers.last_seen
        return bool(self._fillers) and (self.fillers.playing > 0 or quiet < FILLER_SECONDS)

    def _fillers_in_turn(self, number: int) -> list[Claim]:
        """Return waiting clients of the next `number` bots of the setting `fillers`. Leave out bots of which no client waits."""
        clients: list[Claim] = []
        for turn in range(self._fillers_used, self._fillers_used + number):
            bot = turn % max(len(self.league.settings.fillers), 1)
            waiting = (claim for claim in self.fillers.claims if self._fillers[claim.user.id] == bot and claim not in clients)
            clients += islice(waiting, 1)
        return clients

    def _begin(self, fixture: Fixture, absent: Sequence[int] = ()) -> None:
        """Begin a game. Fillers take the free seats and those of the entrants in `absent`, random bots if fillers are missing."""
        settings = self.league.settings
        owners = [self.fillers if n is None or n in absent else self._bots[n] for n in fixture.seats]
        in_turn = self._fillers_in_turn(owners.count(self.fillers))
        self.fillers.claims.sort(key=lambda claim: claim not in in_turn)
        self._fillers_used += owners.count(self.fillers)
        seats = [owner.claims.pop(0) if owner.claims else None for owner in owners]
        claims = [claim for claim in seats if claim is not None]
        try:
            match = self._lobby.arrange(
                fixture.map,
                [RANDOM_BOT if claim is None else claim.user for claim in seats],
                rounds=settings.rounds,
                seed=fixture.seed,
                time_limit_ms=settings.time_limit_ms,
                first_limit_ms=settings.first_limit_ms,
                pace=settings.pace,
                claims=claims,
            )
        except UsageError as problem:  # a map that cannot be generated
            self._take_back(claims)
            self.league.state = "paused"
            _log.error("the league is paused", league=self.league.name, reason=problem.message)
            return
        self.running[id(fixture)] = match
        players = {presence for claim in claims if (presence := self._presence(claim.user)) is not None}
        for presence in players:
            presence.playing += 1
        task = self._loop.create_task(self._follow(fixture, match, players, tuple(absent)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _take_back(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            presence = self._presence(claim.user)
            if presence is not None:
                presence.claims.insert(0, claim)

    async def _follow(self, fixture: Fixture, match: Match, players: set[Presence], absent: tuple[int, ...]) -> None:
        """Wait for the end of a game, and store its result. If the game does not begin in time, let its clients wait again.

        `players` are the presences of all who play. Fillers play for the entrants in `absent`.
        """
        result: MatchResult | None = None
        try:
            async with asyncio.timeout(BEGIN_SECONDS):
                await match.begun()
            result = await match.ended()
        except TimeoutError:
            pass
        finally:
            self._take_back(self._lobby.withdraw(match))  # if the game has not begun, some of its clients may still wait
            del self.running[id(fixture)]
            for presence in players:
                presence.playing -= 1
                presence.last_seen = self._loop.time()
        if result is not None:
            self._note_result(fixture, result, absent)
        self._check_soon()

    def _note_result(self, fixture: Fixture, result: MatchResult, absent: tuple[int, ...]) -> None:
        fixture.attempts += 1
        seats = [(n, result.crashed[seat]) for seat, n in enumerate(fixture.seats) if n is not None and n not in absent]
        crashed = sorted({number for number, has_crashed in seats if has_crashed})
        again = bool(crashed) and fixture.attempts <= self.league.settings.reruns
        for number in crashed:
            bot = self._bots[number]
            bot.crashes += 1
            if bot.crashes >= MAX_CRASHES and not bot.present:
                bot.last_seen = -math.inf
        if crashed:
            names = [self.league.names[number] for number in crashed]
            following = "is played again" if again else "counts"
            _log.info(f"bots timed out: the game {following}", league=self.league.name, bots=names, game=result.game_id)
        if not again:
            played = FixtureResult(kind="played", gold=result.gold, crashed=result.crashed, absent=absent, game_id=result.game_id)
            self._decide(fixture, played)
        self._save_soon()

    def _decide(self, fixture: Fixture, result: FixtureResult) -> None:
        self.league.decide(fixture, result)
        self._save_soon()
        if self.league.over:
            _log.info("the league is over", league=self.league.name)
            self._finish()
        elif self.league.day != self._clock_day:
            if self.league.settings.breaks:
                self.league.state = "paused"
                _log.info(f"a break before {self.league.day_name(self.league.day)}", league=self.league.name)
            self._restart_clock()

    def _finish(self) -> None:
        self._take_place()
        self._refuse_all(game_error(OVER))

    def _refuse_all(self, refusal: Refusal) -> None:
        for presence in (self.fillers, *self._bots):
            for claim in presence.claims:
                if not claim.waiter.done():
                    claim.waiter.set_result(refusal)
            presence.claims.clear()

    # ---- Absent bots ----

    async def _keep_checking(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            self.check()

    def check(self) -> None:
        """Start the league if its time has come, and decide games against bots that have been absent for too long."""
        start = self.league.settings.start
        if self.league.state == "waiting" and start is not None and start <= datetime.now(start.tzinfo):
            self.set_state("running")
        self._start_ready_games()
        self._forfeit_absent()

    def _update_last_seen(self) -> None:
        for bot in self._bots:
            if bot.present:
                bot.last_seen = self._loop.time()

    def _forfeit_absent(self) -> None:
        """Let each bot that has been absent for at least `absence_timeout_s` lose its undecided games of the earliest day.

        The method does this only if at least one bot waits, and no game runs or can begin. If the league has fillers, a game with
        at least one present bot is played: fillers play for the absent bots.
        """
        if self.running or self.league.state != "running" or not any(bot.claims for bot in self._bots):
            return
        oldest = self._loop.time() - self.league.settings.absence_timeout_s
        for fixture in self.league.pending_today():
            absent = tuple(number for number in self._absent([fixture]) if self._bots[number].last_seen <= oldest)
            if absent and len(absent) < len(fixture.entrants) and (self.fillers.claims or self._fillers_expected()):
                if self._can_begin(fixture, absent):
                    self._begin(fixture, absent)
            elif absent:
                names = [self.league.names[number] for number in absent]
                _log.info("a game is decided against absent bots", league=self.league.name, absent=names)
                self._decide(fixture, FixtureResult(kind="absent", absent=absent))
        self._check_soon()

    # ---- The file ----

    def _save_soon(self) -> None:
        self._dirty = True
        if self._saving is None or self._saving.done():
            self._saving = self._loop.create_task(self._save())

    async def store(self) -> None:
        """Write the state of the league to its file now. Raises `VindibotError` if the file cannot be written."""
        if self._dirty:
            self._save_soon()
        if self._saving is not None:
            await asyncio.shield(self._saving)
        if self._dirty:
            raise VindibotError("the league goes on with the new state, but it cannot be stored: see the log of the server")

    async def _save(self) -> None:
        while self._dirty:
            self._dirty = False
            try:
                await asyncio.to_thread(self.league.save, self.league.text())
            except VindibotError as problem:
                self._dirty = True
                _log.error("the league goes on, but cannot be stored", league=self.league.name, reason=problem.message)
                return
