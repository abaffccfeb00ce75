"""The store writes the files of a tournament: the results, the game records and the configuration.

::

    results/cup.jsonl           a line per finished game, appended when the game ends (`vindibot.arena.results`)
    results/cup.games.jsonl     the game records (`vindibot.games.game_record`); if two have the same id, the last one counts
    results/cup.effective.toml  the whole configuration; a configuration of yours may extend it
    results/cup.html            the report (`vindibot.arena.report.page`)
    results/cup.games/          pages of some games (`vindibot.arena.report.page`)
    results/cup.logs/           the output of bots

The record of a game is written before its line of results, so that every line has its record. If a crash or a full disk has cut
a line off, this line is removed before the next line is appended. The store never writes into files that no arena has made.
"""

from __future__ import annotations

import contextlib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from vindibot.arena.results import GameLine, PlayedGame, read_results
from vindibot.arena.seats.entrants import Entrant
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.text import Redactor, printable
from vindibot.base.writing import LineFile, Output, begins_with, short
from vindibot.config.messages import dotted
from vindibot.config.signature import Build, build
from vindibot.config.tables import flat
from vindibot.games.files.game_files import RESULTS_LINE, records_path

#: The first bytes of a game record.
RECORD = b'{"id":'
#: Texts which show that an arena made a configuration file or a report.
SETUP_MARK, REPORT_MARK = "# Made by vindibot arena", '<meta name="generator" content="vindibot arena">'
#: The beginning of the line in a configuration file that has the command of the tournament.
COMMAND_MARK = "# Command: "
INSTEAD = "--results names another file"
#: Keys and tables of a configuration that may change when a tournament is resumed.
_CHANGEABLE = ("blocks", "workers", "results", "records", "replays", "logs", "max_forfeits", "log", "sprt", "dask")


class StoreError(VindibotError):
    """Results cannot be written. The message gives the reason. All lines that were written before are complete."""


class Store:
    """The files of a tournament, open for more games. `before` has the games that the results file had when it was opened.

    - `path`: the results file. The other files are beside it.
    - `digest`, `setup`: the identity of the tournament, and its configuration.
    - `resume`: whether the results file may have games already.
    - `records`: whether game records are stored too.
    - `bots`: the bots that play now. If their files or the build have changed since the earlier games, no game may be added.
      None: changes do not matter.
    - `command`: the command that begins the tournament.

    Raises `UsageError` if the files belong to another tournament or are of another kind, `StoreError` if they cannot be written.
    """

    def __init__(
        self,
        path: Path,
        digest: str,
        setup: Mapping[str, Any],
        *,
        resume: bool,
        records: bool,
        bots: Iterable[Entrant] | None = None,
        command: str = "",
    ) -> None:
        self.path, self.before = path, list[GameLine]()
        self._files: list[LineFile] = []
        try:
            self._results = self._open(path)
            self._records = self._open(records_path(path)) if records else None
            self._check(digest, setup, resume=resume, bots=bots)
            setup_file = owned(setup_path(path), SETUP_MARK)
            setup_file.check()
            if not self.before:
                head = f"{SETUP_MARK}, which writes it anew: change a copy of it.\n"
                line = f"{COMMAND_MARK}{printable(Redactor()(command))}\n" if command else ""
                setup_file.write(head + line + tomli_w.dumps(setup))
        except BaseException:
            for file in self._files:
                file.discard()
            raise

    def _open(self, path: Path) -> LineFile:
        self._files.append(LineFile.locked(path, "arena", StoreError))
        return self._files[-1]

    def _check(self, digest: str, setup: Mapping[str, Any], *, resume: bool, bots: Iterable[Entrant] | None) -> None:
        """Read the games that the results file has. Raises `UsageError` if the open files belong to another tournament."""
        path = self.path
        if not self._results.empty:
            if not begins_with(path, RESULTS_LINE):
                raise UsageError(f"{short(path)} is there already and has no results of an arena: {INSTEAD}")
            if not resume:
                raise UsageError(f"{short(path)} is there already: --resume goes on with it, {INSTEAD}")
            self.before = read_results(path)
            if self.before and self.before[0].tournament != digest:
                raise UsageError(f"{short(path)} has games of another tournament: {_differences(setup_path(path), setup)}")
            if differences := changes(self.before, build(), bots) if bots is not None else []:
                text = f"its games were played by another version: {'; '.join(differences)}"
                raise UsageError(f"{short(path)}: {text}. --mix-versions continues nevertheless")
        if not self.before and not resume:
            _refuse_others(path, records=self._records is not None)
        if self._records is not None and not begins_with(records_path(path), RECORD):
            raise UsageError(f"{short(records_path(path))} is there already and has no game records: move it away, or {INSTEAD}")

    def append(self, played: PlayedGame) -> None:
        """Append a game's record and its line of results. Raises `StoreError`."""
        for file, line in ((self._records, played.record), (self._results, played.line.encode().encode())):
            if file is None:
                continue
            try:
                file.append(line)
            except OSError as problem:
                raise StoreError(f"{short(file.path)}: cannot be written: {problem.strerror or problem}") from None

    def close(self) -> None:
        """Close the files, and remove the folder for logs if it is empty."""
        for file in self._files:
            file.close()
        with contextlib.suppress(OSError):  # the folder is not empty or does not exist
            logs_path(self.path).rmdir()


def setup_path(results: Path) -> Path:
    """Return the path of the configuration file beside these results."""
    return results.with_suffix(".effective.toml")


def logs_path(results: Path) -> Path:
    """Return the path of the folder for the bots' standard error, beside these results."""
    return results.with_suffix(".logs")


def replays_path(results: Path) -> Path:
    """Return the path of the folder for pages of games, beside these results."""
    return results.with_suffix(".games")


@dataclass(frozen=True)
class TournamentOrigin:
    """The command that began a tournament (empty if unknown) and the tournament's seed (None if unknown)."""

    command: str = ""
    seed: int | None = None


def read_origin(results: Path) -> TournamentOrigin:
    """Return the origin of the tournament of a results file."""
    try:
        text = setup_path(results).read_text("utf-8-sig")
        seed = tomllib.loads(text).get("seed")
    except (OSError, ValueError):
        return TournamentOrigin()
    if not text.startswith(SETUP_MARK):
        return TournamentOrigin()
    command = next((line.removeprefix(COMMAND_MARK) for line in text.splitlines() if line.startswith(COMMAND_MARK)), "")
    return TournamentOrigin(command, seed if isinstance(seed, int) else None)


def report_path(results: Path) -> Path:
    """Return the path of the report about these results."""
    return results.with_suffix(".html")


def owned(path: Path, mark: str) -> Output:
    """Return an output file beside the results. An existing file is replaced only if it contains the text `mark`."""
    return Output(path, mark, "vindibot arena", INSTEAD)


def check_names(results: Path) -> None:
    """Raise `UsageError` if the path for results is a folder, or is the path of the tournament's report or logs."""
    if results.is_dir() or not results.name:
        raise UsageError(f"{short(results)} is a folder: --results names a file, as {short(results / 'cup.jsonl')}")
    if results in (report_path(results), logs_path(results), replays_path(results)):
        raise UsageError(f"{short(results)} is the name of the report, the logs or the pages of these results: name them *.jsonl")


def _refuse_others(results: Path, *, records: bool) -> None:
    """Raise `UsageError` if there are game records or logs beside this path, although the results file itself does not exist."""
    left = [path for path in ([records_path(results)] if records else []) if path.is_file() and path.stat().st_size]
    left += [path for path in [logs_path(results)] if path.is_dir() and any(path.iterdir())]
    if left:
        names = " and ".join(map(short, left)) + (" is" if len(left) == 1 else " are")
        raise UsageError(f"{names} there already and belong to other results: move them away, or {INSTEAD}")


def _differences(path: Path, setup: Mapping[str, Any]) -> str:
    """Return in words how the configuration `setup` differs from the configuration in the file `path`."""
    try:
        before = dict(flat(tomllib.loads(path.read_text("utf-8-sig"))))
    except (OSError, ValueError):
        return "its bots, maps, seed or limits were different"
    now = dict(flat(tomllib.loads(tomli_w.dumps(setup))))

    def shown(table: Mapping[tuple[str, ...], Any], path: tuple[str, ...]) -> str:
        return json.dumps(table[path]) if path in table else "not set"

    differences = [
        f"{dotted(path)} was {shown(before, path)} and is {shown(now, path)}"
        for path in dict.fromkeys([*before, *now])
        if before.get(path) != now.get(path) and path[0] not in _CHANGEABLE
    ]
    return "; ".join(differences[:4]) or "another version of vindibot began it, or its programs were started in another folder"


def changes(before: Sequence[GameLine], build: Build, entrants: Iterable[Entrant]) -> list[str]:
    """Return what has changed in the build and the bots since the last games in a file, one phrase per change.

    `before` are the games in the file. `build` and `entrants` are the current build and the current bots.
    """
    if not before:
        return []
    last = before[-1].build
    changed = ["the build that played them was not recorded"] if last is None else build.changes(last)
    digests = {seat.bot: (seat.version, seat.digest) for line in before for seat in line.seats}
    for entrant in entrants:
        version, digest = digests.get(entrant.label, (entrant.version, entrant.digest))
        if digest != entrant.digest:
            numbers = f" (version {version}, now {entrant.version})" if version != entrant.version else ""
            changed.append(f"the files of {entrant.label} have changed{numbers}")
    return changed
