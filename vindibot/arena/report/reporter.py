"""Reporters show the games of a tournament to people while the tournament runs.

The tournament calls the methods from one thread, in this order::

    reporter.begin(info)           once, before the first game; `info.before` has the games of earlier runs
    reporter.finished(line)        for every game, when it ends
    reporter.note("...")           at any time in between, with a line for people (a worker was replaced, a bot is slow to start)
    reporter.end()                 once, even after an interruption

The methods must return quickly and must not raise. `vindibot.arena.report.live` has the reporters for terminals and for
plain lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vindibot.arena.hosts import MachineStatus
from vindibot.arena.results import GameLine
from vindibot.arena.settings import SprtSettings


@dataclass(frozen=True)
class TournamentInfo:
    """A tournament that begins or continues.

    - `bots`: the labels of the bots, in the order of the configuration.
    - `games`, `blocks`: the numbers of games and blocks in the whole tournament.
    - `workers`: number of games that run at once on this machine.
    - `before`: the games of earlier runs, if the tournament is resumed.
    - `anchor`: the bot whose rating is 0. If it is None, the mean rating is 0.
    - `sprt`: the settings of the sequential test of a match, None for other tournaments.
    - `machines`: a function that returns the state of the other machines that play, None if this machine plays.
    """

    title: str
    bots: tuple[str, ...]
    games: int
    blocks: int
    workers: int = 1
    before: Sequence[GameLine] = field(default=(), repr=False)
    anchor: str | None = None
    sprt: SprtSettings | None = None
    machines: Callable[[], Sequence[MachineStatus]] | None = field(default=None, repr=False)


class Reporter:
    """A reporter that shows nothing. Other reporters derive from it."""

    def begin(self, info: TournamentInfo) -> None:
        """Begin to report on a tournament."""

    def finished(self, line: GameLine) -> None:
        """Report a game that has ended and whose line is written."""

    def note(self, text: str) -> None:
        """Show a line of text."""

    def end(self) -> None:
        """Report the end of the tournament, and restore the terminal."""
