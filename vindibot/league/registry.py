"""The registry of leagues: all leagues of a server. Leagues come from files or from requests of the administrator."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from starlette.exceptions import HTTPException

from vindibot.base.errors import UsageError
from vindibot.base.writing import only_writer
from vindibot.league.director import Director
from vindibot.league.league import SUFFIX, League
from vindibot.league.settings import LeagueSettings
from vindibot.server.admin.roster import RosterEntry
from vindibot.server.lobby import Lobby


class LeagueRegistry:
    """All leagues of a server. `directors` has the director of each league, by the league's name.

    `path` is the file of a league, or a folder with such files. New leagues are stored in this folder, or in the folder of this
    file. If `path` is None, all leagues are lost when the server ends.
    """

    def __init__(self, lobby: Lobby, path: Path | None = None) -> None:
        self.lobby = lobby
        self.directors: dict[str, Director] = {}
        self._path = path
        self._locks = ExitStack()

    def states(self) -> dict[str, str]:
        """Return the state of each league, by the league's name."""
        return {name: director.league.state for name, director in self.directors.items()}

    def find(self, name: str) -> Director:
        """Return the director of a league. Raises `HTTPException` with status 404 if there is no such league."""
        if name not in self.directors:
            raise HTTPException(404)
        return self.directors[name]

    def open(self) -> None:
        """Lock and read the files of the leagues, and let their bots join. Raises `VindibotError`."""
        if self._path is not None:
            for path in sorted(self._path.glob(f"*{SUFFIX}")) if self._path.is_dir() else [self._path]:
                if path.is_file():
                    self._lock(path)
                league = League.load(path)
                league.load_secret()
                self._start(league)

    def _lock(self, path: Path) -> None:
        self._locks.enter_context(only_writer(path, "another vindibot server plays this league; stop it first"))

    def create(self, name: str, settings: LeagueSettings, roster: Sequence[RosterEntry]) -> Director:
        """Make a league and its file, and return its director. The league waits for its start.

        Raises `VindibotError` if the name is in use, the league is not valid, or the file cannot be written.
        """
        folder = self._path if self._path is None or self._path.is_dir() else self._path.parent
        path = None if folder is None else folder / f"{name}{SUFFIX}"
        self._check_free(name)
        league = League.create(name, settings, roster, path)
        league.save(new=True)
        if path is not None:
            self._lock(path)
        return self._start(league)

    async def close(self) -> None:
        """Stop all leagues and store them."""
        for director in list(self.directors.values()):
            await director.close()
        self._locks.close()

    def _check_free(self, name: str) -> None:
        if name in self.directors:
            raise UsageError(f"there is already a league named {name}")

    def _start(self, league: League) -> Director:
        self._check_free(league.name)
        director = self.directors[league.name] = Director(league, self.lobby)
        director.start()
        return director
