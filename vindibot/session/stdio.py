"""``vindibot stdio``: one game of a bot over standard input and output, by the line protocol (`vindibot.games.line_protocol`).

Only moves go to standard output. Text that the code of traits prints goes to standard error.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rich.console import Console

from sim.game import Game
from vindibot.base import interrupts, log
from vindibot.base.console import say, terminal
from vindibot.base.text import printable
from vindibot.config.bots import Bot, load_bot
from vindibot.config.settings import cores
from vindibot.engine.agent import Agent, Voters, rehearse, voters
from vindibot.engine.deadline import Deadline
from vindibot.engine.warmup import load_beside, warm
from vindibot.games.ballot import Ballot, new_failures
from vindibot.games.line_protocol import EXPERT, LineGame, write_answer

#: Largest length of a line, in bytes.
LONGEST_LINE = 4096
#: A worker that has not answered this number of seconds after the deadline is killed.
GRACE = 0.05


@dataclass(frozen=True)
class StdioSettings:
    """The settings of a game by the line protocol. Times are in milliseconds.

    - `limit_ms`, `first_ms`: the time limit for a move, and the time limit for the first move.
    - `margin_ms`: the safety margin, that is, the part of each time limit that stays unused.
    - `rounds`: the number of rounds of the game. The protocol does not send this number.
    - `nodes`: the search budget of each trait per move, in nodes. With None, a trait may search until the deadline.
    - `workers`: the number of processes for the traits, None for one per core.
    - `seed`: the seed of all random choices, None for a random seed.
    - `expert`: whether to ask the program at the other end for the other heroes' last moves.
    """

    limit_ms: float
    first_ms: float
    margin_ms: float
    rounds: int
    nodes: int | None
    workers: int | None
    seed: int | None
    expert: bool


class _Line(NamedTuple):
    """A line of the input, and the time (of `time.monotonic`) at which it was read."""

    text: str
    read_at: float


def play_stdio(name: str, settings: StdioSettings) -> None:
    """Play one game with the bot `name`, and return at the end of the input.

    All kernels are compiled, and all workers have rehearsed a turn, before the first line is read. Raises `UsageError` for a bot
    that does not exist, or for input that does not follow the protocol.
    """
    with _own_streams() as (source, target):
        console = terminal(stderr=True)
        with log.configured("info", None, console):
            load_beside(name)
            bot = load_bot(name)
            warm(console)
            interrupts.at_once_again()
            asyncio.run(_StdioPlayer(bot, settings, console, source, target).play())


@contextlib.contextmanager
def _own_streams() -> Iterator[tuple[int, int]]:
    """Yield the descriptors of standard input and standard output. Only the ``with`` block uses these streams.

    For all other code, standard input is empty within the block, and standard output goes to standard error.
    """
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    printed = sys.stdout
    try:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        yield source, target
    finally:
        sys.stdout = printed
        os.dup2(source, 0)
        os.dup2(target, 1)
        for descriptor in (nothing, target):
            os.close(descriptor)  # the thread may still read `source`


class _StdioPlayer:
    """Plays one game of a bot by the line protocol. `source` and `target` are the descriptors of the input and the output."""

    def __init__(self, bot: Bot, settings: StdioSettings, console: Console, source: int, target: int) -> None:
        self._bot, self._settings, self._console = bot, settings, console
        self._source, self._target = source, target
        self._game = LineGame(settings.rounds)
        self._agent: Agent | None = None
        self._reported: set[tuple[str, str]] = set()

    async def play(self) -> None:
        """Play to the end of the input, or until the reader of the moves has closed the output."""
        its_voters = voters(self._bot, workers=self._settings.workers or cores(), grace=GRACE)
        try:
            await its_voters.start()
            await rehearse(its_voters)
            limits = f"{self._settings.first_ms:g} ms for the first move, then {self._settings.limit_ms:g} ms"
            self._note(f"{self._bot.name} is ready: {limits}, {self._settings.rounds} rounds")
            await self._answer_all(its_voters)
        finally:
            await its_voters.close()

    async def _answer_all(self, its_voters: Voters) -> None:
        lines: asyncio.Queue[_Line | None] = asyncio.Queue()
        threading.Thread(
            target=_read_lines, args=(self._source, lines, asyncio.get_running_loop()), name="vindibot-lines", daemon=True
        ).start()
        began = 0.0
        while (line := await lines.get()) is not None:
            if self._game.begins:
                began = line.read_at
            games = self._game.feed(line.text)
            if games is not None and not await self._answer(its_voters, games, began):
                return

    async def _answer(self, its_voters: Voters, games: Game, began: float) -> bool:
        """Decide and write a move. Return False if the reader has closed the output.

        `began` is the time (of `time.monotonic`) at which the first line of the turn was read.
        """
        settings, first = self._settings, self._agent is None
        if self._agent is None:
            seed = settings.seed if settings.seed is not None else secrets.randbits(48)
            self._agent = Agent(its_voters, self._game.me, seed, Deadline(settings.margin_ms / 1000), settings.nodes)
        ballot = await self._agent.decide(games, began, (settings.first_ms if first else settings.limit_ms) / 1000)
        self._game.moved(ballot.direction)
        try:
            _write(self._target, write_answer(ballot.direction, EXPERT if first and settings.expert else ""))
        except BrokenPipeError:
            self._note("nobody reads the moves any more")
            return False
        self._tell_failures(int(games["turn"].item(0)), ballot)
        return True

    def _tell_failures(self, turn: int, ballot: Ballot) -> None:
        """Print a note about a late move, and about each trait that failed. A trait is named only once per kind of failure."""
        if ballot.margin_ms < 0:
            self._note(f"the move of turn {turn} was {-ballot.margin_ms:.0f} ms late")
        for entry in new_failures(ballot, self._reported):
            self._note(f"the trait {entry.label} failed on turn {turn}: {entry.note}")

    def _note(self, text: str) -> None:
        say(self._console, printable(text))


def _write(target: int, text: str) -> None:
    data = text.encode()
    while data:
        data = data[os.write(target, data) :]


def _read_lines(source: int, lines: asyncio.Queue[_Line | None], loop: asyncio.AbstractEventLoop) -> None:
    """Put the lines of the input into the queue, and None at the end of the input. A last line without a line feed is dropped.

    A line that is too long is cut into pieces, which are not valid lines of the protocol.
    """
    buffer = b""
    with contextlib.suppress(RuntimeError):  # the loop has been closed
        while data := _read(source):
            now = time.monotonic()
            *complete, buffer = (buffer + data).split(b"\n")
            if len(buffer) > LONGEST_LINE:
                complete, buffer = [*complete, buffer], b""
            for line in complete:
                loop.call_soon_threadsafe(lines.put_nowait, _Line(line.decode(errors="replace"), now))
        loop.call_soon_threadsafe(lines.put_nowait, None)


def _read(source: int) -> bytes:
    """Return the next bytes. They are empty at the end of the input, or if the input cannot be read."""
    try:
        return os.read(source, 1 << 16)
    except OSError:
        return b""
