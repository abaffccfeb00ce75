"""Checks of the programs of a tournament before its first game. Their results lie beside the tournament, for its report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from vindibot.arena.checks.program import CheckResult, check_program
from vindibot.arena.seats.entrants import Entrant
from vindibot.arena.store import owned
from vindibot.base.output.text import counted, printable

#: Number of moves of a program in each game.
ROUNDS = 3
#: The text by which the arena knows a file that it made.
MARK = '"checks of vindibot arena"'


@dataclass(frozen=True)
class CheckedProgram:
    """The results of the checks of one program. `label` is its name in the tournament."""

    label: str
    results: tuple[CheckResult, ...]

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """The checks that the program fails."""
        return tuple(result for result in self.results if result.wrong and result.fails)

    @property
    def verdict(self) -> str:
        """What the checks say about the program, in one line."""
        if self.failed:
            words = "; ".join(f"{result.check}: {result.wrong}" for result in self.failed)
            return f"{self.label} fails {len(self.failed)} of {counted(len(self.results), 'check')}: {words}"
        return f"{self.label} passes {counted(len(self.results), 'check')}"


@dataclass(frozen=True)
class _File:
    made_by: str
    programs: tuple[CheckedProgram, ...]


_FILE: TypeAdapter[_File] = TypeAdapter(_File)


def checks_path(results: Path) -> Path:
    """Return the path of the results of checks, beside these results."""
    return results.with_suffix(".checks.json")


def check_programs(entrants: Sequence[Entrant], results: Path, say: Callable[[str, bool], None]) -> None:
    """Check the programs among `entrants`, and write what is found beside `results`.

    `say` gets a line, and whether a check fails. Raises `VindibotError` if the file cannot be written.
    """
    programs = [entrant for entrant in entrants if entrant.command]
    if not programs:
        return
    path = owned(checks_path(results), MARK)
    path.check()
    found = []
    for entrant in programs:
        say(printable(f"checking {entrant.label} in short games"), False)
        one = CheckedProgram(entrant.label, tuple(check_program(entrant, ROUNDS)))
        say(printable(one.verdict), bool(one.failed))
        found.append(one)
    path.write(_FILE.dump_json(_File(MARK.strip('"'), tuple(found)), indent=1).decode() + "\n")


def read_checks(results: Path) -> tuple[CheckedProgram, ...]:
    """Return the results of the checks of a tournament, empty if there are none, or if the file is damaged."""
    try:
        return _FILE.validate_json(checks_path(results).read_bytes()).programs
    except (OSError, ValidationError):
        return ()
