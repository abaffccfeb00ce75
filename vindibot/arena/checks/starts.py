"""Finds a bot that cannot be started: it forfeits each of its first games before its first move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from vindibot.arena.results import GameLine
from vindibot.base.output.redaction import Redactor
from vindibot.base.output.text import printable

#: Number of first games that a bot must forfeit at the start, and largest number of lines of its output that are shown.
FIRST_GAMES, SHOWN_LINES = 3, 10
#: Number of bytes at the end of a log that are read.
_LAST_BYTES = 8192


class StartWatch:
    """Watches the first games of each of the `bots`."""

    def __init__(self, bots: Collection[str]) -> None:
        self._waiting = set(bots)
        self._failed = Counter[str]()

    def failing(self, line: GameLine) -> str | None:
        """Take the next finished game. Return the bot that has forfeited its first `FIRST_GAMES` games at the start, else None.

        A bot with several seats has forfeited a game at the start if none of its seats made a move.
        """
        if line.given_up:
            return None
        for bot in self._waiting & set(line.bots):
            seats = [seat for seat in line.seats if seat.bot == bot]
            if any(seat.moves or seat.outcome.finished for seat in seats):
                self._waiting.discard(bot)
                continue
            self._failed[bot] += 1
            if self._failed[bot] == FIRST_GAMES:
                return bot
        return None


def last_output(logs: Path, line: GameLine, bot: str) -> list[str]:
    """Return the last lines of the output of `bot` in a game, [] if there is no log. `logs` is the folder of the logs."""
    return last_lines(logs / f"{line.record}-{line.bots.index(bot) + 1}-{bot}.log", SHOWN_LINES)


def last_lines(path: Path, most: int) -> list[str]:
    """Return at most `most` lines from the end of a log, without empty lines and without keys. [] if there is no log."""
    with suppress(OSError), path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - _LAST_BYTES))
        lines = log.read().decode(errors="replace").splitlines()
        return [printable(Redactor()(text)) for text in lines if text.strip()][-most:]
    return []
