"""A league and its file: settings, roster, fixtures. The file holds no key, only slow digests of them under a salt."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sim.maps import MapError, UnknownMapError, read_map
from vindibot.base import UsageError, VindibotError, create, replace
from vindibot.config import dotted, explain
from vindibot.server.league.fixtures import Fixture, FixtureResult
from vindibot.server.league.pairing import most_fixtures, next_fixtures
from vindibot.server.league.roster import RosterEntry
from vindibot.server.league.settings import LeagueSettings
from vindibot.server.league.standings import StandingsRow, standings
from vindibot.server.names import name_problem
from vindibot.server.users import DIGEST_BYTES, SCRYPT_N, SCRYPT_P, SCRYPT_R

#: How the file of a league ends.
SUFFIX = ".league.json"
NAME = r"[a-z0-9][a-z0-9-]{0,39}"
MAX_FIXTURES = 100_000


def _check_name(name: str) -> str:
    problem = name_problem(name, shortest=1)
    if problem is not None:
        raise ValueError(problem)
    return name


class Member(BaseModel):
    """Who takes part: a name, and the digest of his key in hexadecimal digits."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, AfterValidator(_check_name)]
    digest: str = Field(repr=False)


class LeagueFile(BaseModel):
    """What the file holds."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    format: Literal["vindibot-league"] = "vindibot-league"
    version: Literal[1] = 1
    name: Annotated[str, Field(pattern=f"^{NAME}$")]
    settings: LeagueSettings
    salt: Annotated[str, Field(pattern="^([0-9a-f]{2}){8,64}$")]
    members: tuple[Member, ...] = Field(min_length=2)
    state: Literal["running", "paused", "over"] = "running"
    fixtures: list[Fixture] = Field(default_factory=list)


class League:
    """A league. `path` is where it is kept, None if it is not. Nothing here waits for anything but `save` for the disk."""

    def __init__(self, data: LeagueFile, path: Path | None = None) -> None:
        self.data = data
        self.path = path
        self.names = [member.name for member in data.members]
        self._members = {member.digest: number for number, member in enumerate(data.members)}

    # ---- Making and keeping ----

    @classmethod
    def create(cls, name: str, settings: LeagueSettings, roster: Sequence[RosterEntry], path: Path | None = None) -> League:
        """A new league; each key costs ten milliseconds. Raises `UsageError` for a bad name, map or too many games."""
        if not re.fullmatch(NAME, name):
            raise UsageError("the name of a league has 1 to 40 small letters, digits and hyphens")
        if len(roster) < 2:
            raise UsageError("a league needs at least two bots")
        games = most_fixtures(settings, len(roster))
        if games > MAX_FIXTURES:
            raise UsageError(f"the league might have {games} games; at most {MAX_FIXTURES} are possible: set fewer days")
        _check_maps(settings)
        salt = secrets.token_bytes(16)
        members = tuple(Member(name=entrant.name, digest=_digest(entrant.key, salt)) for entrant in roster)
        league = cls(LeagueFile(name=name, settings=settings, salt=salt.hex(), members=members), path)
        league._extend()
        return league

    @classmethod
    def load(cls, path: Path) -> League:
        """The league in a file. Raises `UsageError`."""
        try:
            data = LeagueFile.model_validate_json(path.read_bytes())
        except OSError as error:
            raise UsageError(f"the league {path} cannot be read: {error.strerror or error}") from None
        except ValidationError as error:
            slip = error.errors(include_url=False)[0]
            where = dotted(slip["loc"])  # empty where all of it is no JSON
            words = f"{where} {explain(slip, secret=True)}" if where else str(slip["msg"])
            raise UsageError(f"{path} is no league: {words}") from None
        count = len(data.members)
        for fixture in data.fixtures:
            if any(number is not None and number >= count for number in (*fixture.entrants, *fixture.seats)):
                raise UsageError(f"{path} is no league: a game is for a bot that is not in its roster")
        _check_maps(data.settings)
        return cls(data, path)

    def text(self) -> str:
        """The file's contents."""
        return self.data.model_dump_json(exclude_none=True) + "\n"

    def save(self, text: str | None = None, *, new: bool = False) -> None:
        """Write the file: it is the old or the new one, whole, whatever happens. `new`: refuse to overwrite one.

        Raises `VindibotError`. Without a path it does nothing.
        """
        if self.path is None:
            return
        data = (text if text is not None else self.text()).encode()
        try:
            (create if new else replace)(self.path, data, mode=0o600)
        except FileExistsError:
            raise UsageError(f"{self.path} is there already: choose another name, or move it away") from None
        except OSError as error:
            raise VindibotError(f"the league cannot be kept in {self.path}: {error.strerror or error}") from None

    # ---- What one can see ----

    @property
    def name(self) -> str:
        """Its name, as in its address."""
        return self.data.name

    @property
    def settings(self) -> LeagueSettings:
        """How it is played."""
        return self.data.settings

    @property
    def fixtures(self) -> list[Fixture]:
        """All games that are known yet."""
        return self.data.fixtures

    @property
    def over(self) -> bool:
        """Whether nothing more will be played."""
        return self.data.state == "over"

    def pending(self) -> list[Fixture]:
        """The games that are to be played, in order."""
        return [fixture for fixture in self.fixtures if fixture.result is None]

    def table(self) -> list[StandingsRow]:
        """The standings."""
        return standings(self.names, self.fixtures)

    def member(self, key: str) -> int | None:
        """Who of the roster has this key; takes ten milliseconds."""
        return self._members.get(_digest(key, bytes.fromhex(self.data.salt)))

    # ---- What happens ----

    def decide(self, fixture: Fixture, result: FixtureResult) -> None:
        """Note a result; when it was the last one, the next day is paired, or the league is over."""
        fixture.result = result
        if not self.pending():
            self._extend()

    def end(self) -> None:
        """Nothing more is played."""
        self.data.state = "over"

    def _extend(self) -> None:
        following = next_fixtures(self.settings, self.names, self.fixtures)
        self.fixtures.extend(following)
        if not following:
            self.data.state = "over"


def _digest(key: str, salt: bytes) -> str:
    return hashlib.scrypt(key.encode(), salt=salt, n=SCRYPT_N, r=SCRYPT_R, p=SCRYPT_P, dklen=DIGEST_BYTES).hex()


def _check_maps(settings: LeagueSettings) -> None:
    for number, text in enumerate(settings.maps, 1):
        try:
            read_map(text)
        except (MapError, UnknownMapError) as problem:
            raise UsageError(f"map {number} of the league: {problem}") from None
