"""Who is told what happens while a tournament runs: the seam between the code that hands out games and what people see.

The scheduler calls the methods from one thread, in this order::

    reporter.begin(outlook)        once, before the first game
    reporter.finished(line)        for every game, as it ends; lines of a resumed file come in `info.before`
    reporter.note("...")           at any time between: one line for people (a worker was rebuilt, a bot is slow to start)
    reporter.end()                 once, in any case, also after an interruption

No method takes long, and none raises: a display that fails is off, the tournament goes on. `vindibot.arena.live` has the
reporters for terminals and for plain lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from vindibot.arena.results import Format, GameLine


@dataclass(frozen=True)
class TournamentInfo:
    """What lies ahead: the labels of the bots in the order of the configuration, the number of games of the whole
    tournament, what a resumed file holds of them already, and how many are played at once."""

    title: str
    format: Format
    bots: tuple[str, ...]
    games: int
    blocks: int
    workers: int = 1
    before: Sequence[GameLine] = field(default=(), repr=False)


class Reporter(Protocol):
    """See the module."""

    def begin(self, info: TournamentInfo) -> None:
        """The tournament begins, or goes on."""

    def finished(self, line: GameLine) -> None:
        """A game has ended and its line is written."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def end(self) -> None:
        """Nothing more comes; leave the terminal in order."""


class Silent:
    """Tells nobody."""

    def begin(self, info: TournamentInfo) -> None:
        """Nothing."""

    def finished(self, line: GameLine) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""
