"""A league, and its file with settings, roster and fixtures.

The file has only digests of the keys: HMAC with
a secret, which lies in a file of its own beside it.
"""

from __future__ import annotations

import hmac
import re
import secrets
from codecs import BOM_UTF8
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sim.maps import MapError, UnknownMapError, read_map
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.text import counted
from vindibot.base.writing import create, replace
from vindibot.config.messages import dotted, explain
from vindibot.league.finals import (
    FinalRound,
    final_rounds,
    next_final_fixtures,
    number_of_rounds,
    round_name,
)
from vindibot.league.pairing import next_fixtures, number_of_days
from vindibot.league.settings import LeagueSettings
from vindibot.league.standings import Fixture, FixtureResult, StandingsRow, standings
from vindibot.server.admin.roster import RosterEntry
from vindibot.server.users import SECRET_BYTES, key_digest, read_secret, write_secret

#: The suffix of the name of a league's file, and of the file with the organiser's key.
SUFFIX = ".league.json"
ORGANISER_SUFFIX = "-organiser.key"
NAME = r"[a-z0-9][a-z0-9-]{0,39}"

#: A league waits until it is started.
State = Literal["waiting", "running", "paused", "over"]


class Member(BaseModel):
    """A bot of the league: its name, the digest of its key as hexadecimal digits, and whether `league new` made the key."""

    model_config = ConfigDict(allow_inf_nan=False, extra="forbid", frozen=True)

    name: str
    digest: str = Field(repr=False)
    made: bool = False


class League(BaseModel):
    """A league: settings, roster (`members`), state and fixtures, as in its file. Only `load` and `save` access the disk."""

    model_config = ConfigDict(allow_inf_nan=False, extra="forbid", hide_input_in_errors=True)

    format: Literal["vindibot-league"] = "vindibot-league"
    version: Literal[2] = 2
    name: Annotated[str, Field(pattern=f"^{NAME}$")]
    settings: LeagueSettings
    members: tuple[Member, ...] = Field(min_length=2)
    #: Digest of the organiser's key, None if only the administrator may start and pause the league.
    organiser: str | None = Field(default=None, repr=False)
    state: State = "waiting"
    fixtures: list[Fixture] = Field(default_factory=list)
    #: Path of the league's file, None for a league without a file. The path itself is not stored in the file.
    path: Path | None = Field(default=None, exclude=True)
    #: The secret of the digests, None if it is not read yet. It is not stored in the league's file, but in `secret_path`.
    secret: bytes | None = Field(default=None, exclude=True, repr=False)
    _is_new: bool = False  # whether the secret is not stored yet

    # ---- The file ----

    @classmethod
    def create(
        cls,
        name: str,
        settings: LeagueSettings,
        roster: Sequence[RosterEntry],
        path: Path | None = None,
        organiser_key: str | None = None,
    ) -> League:
        """Return a new league, whose file is `path` (None: no file). Do not write the file. The league waits for its start.

        The owner of `organiser_key` (see `league.command`) may start and pause the league. Raises `UsageError` for an invalid
        name or map, and for a roster with fewer than two bots or fewer bots than the final.
        """
        if not re.fullmatch(NAME, name):
            raise UsageError("the name of a league has 1 to 40 small letters, digits and hyphens")
        if len(roster) < 2:
            raise UsageError("a league needs at least two bots")
        if settings.final is not None and len(roster) < settings.final:
            raise UsageError(f"a final of {settings.final} needs {settings.final} bots; the roster has {len(roster)}")
        _check_maps(settings)
        secret = secrets.token_bytes(SECRET_BYTES)
        members = [Member(name=bot.name, digest=key_digest(secret, bot.key).hex(), made=bot.made) for bot in roster]
        league = cls(name=name, settings=settings, members=tuple(members), path=path, secret=secret)
        league._is_new = True
        league.organiser = None if organiser_key is None else league._digest(organiser_key)
        league._extend()
        return league

    @classmethod
    def load(cls, path: Path) -> League:
        """Return the league in a file. Raises `UsageError` if the file cannot be read or is not a valid league."""
        try:
            league = cls.model_validate_json(path.read_bytes().removeprefix(BOM_UTF8))
        except OSError as error:
            raise UsageError(f"the league {path} cannot be read: {error.strerror or error}") from None
        except ValidationError as error:
            slip = error.errors(include_url=False)[0]
            where = dotted(slip["loc"])  # empty if the whole file is not JSON
            words = f"{where} {explain(slip, secret=True)}" if where else str(slip["msg"])
            raise UsageError(f"{path} is not a league: {words}") from None
        for fixture in league.fixtures:
            if any(number is not None and number >= len(league.members) for number in (*fixture.entrants, *fixture.seats)):
                raise UsageError(f"{path} is not a league: a game is for a bot that is not in its roster")
        _check_maps(league.settings)
        league.path = path
        return league

    def text(self) -> str:
        """Return the contents of the league's file (JSON)."""
        return self.model_dump_json(exclude_none=True) + "\n"

    def save(self, text: str | None = None, *, new: bool = False) -> None:
        """Write `text` to the league's file, completely or not at all. If `text` is None, write the result of `text()`.

        If the league has no path, write nothing. With `new`, an existing file is an error. Raises `VindibotError`.
        """
        if self.path is None:
            return
        data = (text if text is not None else self.text()).encode()
        try:
            if self.secret is not None and self._is_new:
                write_secret(self.secret_path, self.secret, exclusive=new)
                self._is_new = False
            (create if new else replace)(self.path, data, mode=0o600)
        except FileExistsError:
            raise UsageError(f"{self.path} exists: choose another name, or move it away") from None
        except OSError as error:
            raise VindibotError(f"the league cannot be stored in {self.path}: {error.strerror or error}") from None

    # ---- State ----

    @cached_property
    def names(self) -> list[str]:
        """The names of the bots, by their indices in the roster."""
        return [member.name for member in self.members]

    @property
    def over(self) -> bool:
        """Whether the league is over, so that no more games begin."""
        return self.state == "over"

    @property
    def day(self) -> int:
        """The number of the present match day: the first day with a game to play, or the last day."""
        last = max((fixture.day for fixture in self.fixtures), default=0)
        return min((fixture.day for fixture in self.pending()), default=last)

    @property
    def days(self) -> int:
        """The number of match days, without those of the final."""
        return number_of_days(self.settings, len(self.members), self._regular)

    @property
    def _regular(self) -> list[Fixture]:
        return [fixture for fixture in self.fixtures if not fixture.final]

    def day_name(self, day: int) -> str:
        """Return the name of a match day: "day 2 of 3", or "semi-final"."""
        return f"day {day} of {self.days}" if day <= self.days else round_name(self.settings, day - self.days)

    def progress(self) -> str:
        """Return how far the league is, as a text: the match day, and the number of games.

        The number of games of a Swiss league or a final is not known, because each match day is paired after the day before.
        """
        left = self.pending()
        if self.settings.system == "swiss" or self.day > self.days:
            games = f"{counted(sum(fixture.day == self.day for fixture in left), 'game')} left on this day"
        else:
            games = f"{len(self.fixtures) - len(left)} of {counted(len(self.fixtures), 'game')} decided"
        return f"{self.day_name(self.day)}, {games}"

    def pending(self) -> list[Fixture]:
        """Return the games without a result, in the order in which they should be played."""
        return [fixture for fixture in self.fixtures if fixture.result is None]

    def pending_today(self) -> list[Fixture]:
        """Return the games of the present match day without a result."""
        left = self.pending()
        return [fixture for fixture in left if fixture.day == left[0].day]

    @property
    def after_break(self) -> str:
        """The name of the match day that begins after a break, if the league has such a break now, else ""."""
        begun = any(fixture.attempts for fixture in self.fixtures if fixture.day == self.day)
        return self.day_name(self.day) if self.settings.breaks and self.state == "paused" and not begun else ""

    def table(self) -> list[StandingsRow]:
        """Return the standings, the best bot first. Games of the final do not count."""
        return standings(self.names, self._regular)

    def final(self) -> list[FinalRound]:
        """Return the rounds of the final that have begun."""
        return final_rounds(self.settings, self.names, self._ranking(), self.fixtures)

    def winner(self) -> str | None:
        """Return the name of the bot that has won the final, None if there is none yet."""
        rounds = self.final()
        if len(rounds) < number_of_rounds(self.settings) or not rounds:
            return None
        return next((self.names[row.entrant] for row in rounds[-1].heats[0] if row.goes_on), None)

    def _ranking(self) -> list[int]:
        """Return the indices of all bots, the best bot of the standings first."""
        numbers = {name: number for number, name in enumerate(self.names)}
        return [numbers[row.name] for row in self.table()]

    # ---- Keys ----

    @property
    def secret_path(self) -> Path:
        """The file with the secret of the digests, beside the league's file, which the league must have."""
        assert self.path is not None
        return self.path.with_suffix(".secret")

    def _digest(self, key: str) -> str:
        if self.secret is None:
            self.load_secret()
        assert self.secret is not None
        return key_digest(self.secret, key).hex()

    def load_secret(self) -> None:
        """Read the secret of the digests. Raises `UsageError` if its file is missing."""
        self.secret = read_secret(self.secret_path)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {member.digest: number for number, member in enumerate(self.members)}

    def member(self, key: str) -> int | None:
        """Return the index of the bot with this key, or None. A key that was made may also be written with capitals."""
        number = self._numbers.get(self._digest(key))
        if number is None and (made := self._numbers.get(self._digest(key.lower()))) is not None:
            number = made if self.members[made].made else None
        return number

    def is_organiser(self, key: str) -> bool:
        """Return whether this is the key of the league's organiser."""
        return self.organiser is not None and hmac.compare_digest(self.organiser, self._digest(key))

    # ---- Results ----

    def decide(self, fixture: Fixture, result: FixtureResult) -> None:
        """Set the result of a fixture. If every fixture then has a result, add the fixtures of the next day.

        If there is no next day, the league is over.
        """
        fixture.result = result
        if not self.pending():
            self._extend()

    def reversible(self, running: Collection[int] = ()) -> list[Fixture]:
        """Return the games that were decided against absent bots, and that can still be played. See `undo_absences`."""
        absences = [fixture for fixture in self.fixtures if fixture.result is not None and fixture.result.absent]
        if self.over and self.pending():
            return []  # the organiser has ended the league
        # The pairings of a Swiss league and of a final follow from the results of earlier days.
        paired = [fixture for fixture in self.fixtures if self.settings.system == "swiss" or fixture.final]
        begun = max((game.day for game in paired if game.attempts or game.played or id(game) in running), default=0)
        return [fixture for fixture in absences if fixture.day >= begun]

    def undo_absences(self, bot: str | None = None, running: Collection[int] = ()) -> list[Fixture]:
        """Delete the results of games that were decided against absent bots, so that these games are played. Return these games.

        If `bot` is given, only games against which this bot was absent are changed. A result can be deleted until the first game
        begins whose pairing follows from it: in a Swiss league a game of the next day, otherwise a game of the final.
        In a Swiss league the following days are paired again, and so is a final. A league that was over is paused, because its
        clients have ended. `running` has the id() of each running fixture. Raises `UsageError` if there is nothing to undo.
        """
        games = [
            fixture
            for fixture in self.reversible(running)
            if bot is None or bot in {self.names[number] for number in fixture.result.absent}  # type: ignore[union-attr]
        ]
        if not games:
            whose = "no absence" if bot is None else f"no absence of a bot named {bot!r:.40}"
            raise UsageError(f"there is {whose} to undo: only until the next day of a Swiss league, or the final, begins")
        for fixture in games:
            fixture.result = None
        first = min(fixture.day for fixture in games)
        swiss = self.settings.system == "swiss"
        self.fixtures = [fixture for fixture in self.fixtures if fixture.day <= first or not (swiss or fixture.final)]
        if self.over:
            self.state = "paused"
        return games

    def _extend(self) -> None:
        following: list[Fixture] = []
        if not any(fixture.final for fixture in self.fixtures):
            following = next_fixtures(self.settings, self.names, self.fixtures)
        if not following:
            following = next_final_fixtures(self.settings, self.names, self._ranking(), self.fixtures)
        self.fixtures.extend(following)
        if not following:
            self.state = "over"


def _check_maps(settings: LeagueSettings) -> None:
    for number, text in enumerate(settings.maps, 1):
        try:
            read_map(text)
        except (MapError, UnknownMapError) as problem:
            raise UsageError(f"map {number} of the league: {problem}") from None
