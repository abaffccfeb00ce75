"""The hall: all leagues of a server, from their files or made by the administrator while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from vindibot.base import UsageError
from vindibot.server.league.director import Director
from vindibot.server.league.league import SUFFIX, League
from vindibot.server.league.roster import RosterEntry
from vindibot.server.league.settings import LeagueSettings
from vindibot.server.lobby import Lobby

MAX_LEAGUES = 100


class Hall:
    """The leagues of a server by name, each with its director. `path` is the file of a league, or a folder of such files, in
    which new ones are kept too; without it leagues are gone at the end."""

    def __init__(self, lobby: Lobby, path: Path | None = None) -> None:
        self.lobby = lobby
        self.directors: dict[str, Director] = {}
        self._path = path

    def open(self) -> None:
        """Read the files and start what is to be played. Raises `UsageError`."""
        if self._path is None:
            return
        if self._path.is_dir():
            for path in sorted(self._path.glob(f"*{SUFFIX}")):
                self._start(League.load(path))
        else:
            self._start(League.load(self._path))

    async def create(self, name: str, settings: LeagueSettings, roster: Sequence[RosterEntry]) -> Director:
        """A new league, which begins at once. Raises `VindibotError`."""
        folder = self._path if self._path is None or self._path.is_dir() else self._path.parent
        path = None if folder is None else folder / f"{name}{SUFFIX}"
        if name in self.directors:
            raise UsageError(f"there is a league named {name} already")
        league = await asyncio.to_thread(League.create, name, settings, roster, path)
        if name in self.directors:  # made in the meantime
            raise UsageError(f"there is a league named {name} already")
        league.save(new=True)
        return self._start(league)

    async def close(self) -> None:
        """Stop all leagues, with their files up to date."""
        for director in self.directors.values():
            await director.close()

    def _start(self, league: League) -> Director:
        if league.name in self.directors:
            raise UsageError(f"there are two leagues named {league.name}")
        if len(self.directors) >= MAX_LEAGUES:
            raise UsageError(f"a server plays at most {MAX_LEAGUES} leagues")
        director = self.directors[league.name] = Director(league, self.lobby)
        director.start()
        return director
