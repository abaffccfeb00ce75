"""Votes of traits outside of a game, such as on a recorded turn: in a worker process, which may hang or end.

If the worker hangs or ends, the vote of the trait that was running says so, and the other traits are asked in a new worker. On a
system that cannot run child processes, the traits run in this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from behaviours.base import Behaviour, View
from sim.game import DIRECTIONS
from sim.kernels import warm
from vindibot.base.errors import VindibotError
from vindibot.base.system import supports_children, warn_of_traits_here
from vindibot.config.bots import Bot, load_bot
from vindibot.config.traits import TraitSpec
from vindibot.engine.failures import line_of
from vindibot.engine.health import TraitHealth
from vindibot.engine.inline import Inline
from vindibot.engine.parts import PartsLayout
from vindibot.engine.runner import Vote, run
from vindibot.games.ballot import Ballot, BallotEntry, tally

#: Default number of seconds for an anytime trait: about the time of a turn.
SECONDS = 0.9
#: Seconds after which a trait without an answer is ended by default: without a budget of nodes, and with one.
LIMIT, LIMIT_WITH_NODES = 10.0, 60.0
#: Seconds for building traits in a worker. The build may have to compile kernels.
BUILD_SECONDS = 300.0
#: Seconds after its limit until a worker that does not end itself is killed.
KILL_AFTER = 1.0
#: Number of failures after which a trait is not asked any more: never.
NEVER = sys.maxsize
#: The stack that `faulthandler` prints when a signal ends a worker, and what it prints besides.
_STACK = re.compile(
    r"^(?:Current thread .*|Stack) \(most recent call first\):\n((?:  File .*\n)+)"
    r"|^Fatal Python error: .*\n\n|^\n?Extension modules: .*\n",
    re.MULTILINE,
)

Traits = Sequence[tuple[TraitSpec, Behaviour]]


class Asker:
    """Asks traits on one view after the other, for a ``with`` block. What the traits print is printed after each answer.

    `traits` are traits of the bot `bot`, with their specifications. Raises `VindibotError` if a worker cannot build them.
    """

    def __init__(self, bot: Bot, traits: Traits) -> None:
        self._folders, self._specs = bot.folders, [spec for spec, _ in traits]
        self._behaviours = [behaviour for _, behaviour in traits]
        self._worker: _Worker | None = None

    def __enter__(self) -> Self:
        if supports_children():
            self._worker = _Worker(self._specs, self._folders)
        else:
            warn_of_traits_here()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def _end(self) -> str:
        """End the worker, print what the traits have printed, and return the stack that the process has printed, if any."""
        worker, self._worker = self._worker, None
        if worker is None:
            return ""
        worker.process.close()
        return worker.show_output()

    def votes(self, view: View, traits: Sequence[int], *, seconds: float | None, limit: float) -> list[Vote]:
        """Return the last vote of each of the traits with these numbers, in the order of `traits`.

        The stop word is set after `seconds` seconds (None: never). If the traits have not answered after `limit` seconds, or have
        ended the worker, the vote of the running trait says so, and the traits without a vote are asked again. If a trait calls
        `breakpoint`, all are asked in this process.
        """
        if not supports_children():
            return self._votes_in_process(view, traits, seconds, limit)
        votes: dict[int, Vote] = {}
        while left := [number for number in traits if number not in votes]:
            self._worker = worker = self._worker or _Worker(self._specs, self._folders)
            if not worker.ask(view, left, votes, seconds, limit):
                running = worker.running if worker.running in left else left[0]
                late, ending = worker.late, worker.process.ending
                where = line_of(self._end(), self._behaviours[running])
                words = f"no answer after {limit:g} s" if late else f"its process ended with {ending}"
                words += f" ({where})" if where else ""
                ms = 1000 * min(limit, worker.seconds)
                votes[running] = Vote(running, None, ms, True, "late" if late else "killed", words)
            elif any(vote.note.startswith("BdbQuit") for vote in votes.values()):  # a worker has no terminal
                worker.skip_output()
                return ask_here([(number, self._behaviours[number]) for number in traits], view, seconds)
            else:
                worker.show_output()
        return [votes[number] for number in traits]

    def _votes_in_process(self, view: View, traits: Sequence[int], seconds: float | None, limit: float) -> list[Vote]:
        behaviours = [self._behaviours[number] for number in traits]
        records = [TraitHealth.of("", 1.0, behaviour, NEVER) for behaviour in behaviours]
        deadline = time.monotonic() + min(limit, limit if seconds is None else seconds)
        entries = asyncio.run(Inline(behaviours, records).ask(view, deadline=deadline, nodes=view.budget.nodes))
        votes = []
        for number, entry in zip(traits, entries, strict=True):
            answer = None if entry.votes is None else tuple(entry.votes)
            note = f"no answer after {limit:g} s" if entry.status == "late" else entry.note
            votes.append(Vote(number, answer, entry.ms, True, entry.status, note, entry.info, entry.notes))
        return votes


class _Worker:
    """A worker for an `Asker`, with its shared memory.

    `running` is the trait that ran last. `late` says that its time was over. `seconds` is the time of the last request.
    """

    def __init__(self, specs: Sequence[TraitSpec], folders: Sequence[str]) -> None:
        from vindibot.engine import forkserver, worker
        from vindibot.engine.worker_process import WorkerEnded, WorkerLate, WorkerProcess

        memory = forkserver.CONTEXT.RawArray("B", worker.WorkerMemory.size(len(specs)))
        plans = [worker.TraitPlan(spec.class_path, dict(spec.parameters)) for spec in specs]
        setup = worker.WorkerSetup(plans, folders, 0, memory, None, PartsLayout((), 1), captures=False)
        self.memory = worker.WorkerMemory(memory)
        self.process = WorkerProcess(forkserver.CONTEXT, worker.serve, setup, name=worker.WORKER)
        self.seconds, self.late, self._shown, self._number = 0.0, False, 0, 0
        try:
            problem = pickle.loads(self.process.start().receive(BUILD_SECONDS))
        except (WorkerEnded, WorkerLate) as error:
            problem = error.message
        if problem:
            self.process.close()
            raise VindibotError(f"a worker process could not build the traits: {problem}")

    @property
    def running(self) -> int:
        return int(self.memory.running[0])

    def ask(self, view: View, traits: Sequence[int], votes: dict[int, Vote], seconds: float | None, limit: float) -> bool:
        """Add the final votes of these traits to `votes`. Return False if the worker has ended or was killed."""
        from vindibot.engine.worker import TurnRequest, encode_turn
        from vindibot.engine.worker_process import WorkerEnded, WorkerLate

        self._number += 1
        began = time.monotonic()
        self.memory.stop[0] = 0
        request = TurnRequest(self._number, encode_turn(view), view.me, limit, view.budget.nodes, view.seed, traits)
        self.process.send(pickle.dumps(request))
        answered = True
        try:
            with contextlib.suppress(WorkerLate):
                self.process.receive(min(limit, limit if seconds is None else seconds))
                return True
            self.memory.stop[0] = 1
            self.process.receive(limit + KILL_AFTER - (time.monotonic() - began))
        except WorkerLate:
            answered, self.late = False, True
        except WorkerEnded as ended:
            answered, self.late = False, ended.ending.kind == "time"
        finally:
            self.seconds = time.monotonic() - began
            for trait in traits:
                vote = self.memory.get(self._number, trait)
                if vote is not None and vote.final:
                    votes[trait] = vote
        return answered

    def skip_output(self) -> str:
        """Return what the process has printed since the last call."""
        text = self.process.output.decode(errors="replace")
        new, self._shown = text[self._shown :], len(text)
        return new

    def show_output(self) -> str:
        """Print what the traits have printed since the last call. Return the stack that the process has printed, if any."""
        self.process.take()
        new = self.skip_output()
        sys.stdout.write(_STACK.sub("", new))
        return "".join(stack for stack in _STACK.findall(new) if stack)


def ask_here(traits: Sequence[tuple[int, Behaviour]], view: View, seconds: float | None) -> list[Vote]:
    """Return the last votes of traits (number, behaviour), which run in this thread. After `seconds` the stop word is set.

    Ctrl-C raises `KeyboardInterrupt`, even if a trait catches this exception. Nothing ends a trait that hangs.
    """
    votes: dict[int, Vote] = {}
    with interrupts() as interrupted, stopping(view, seconds):
        run(traits, view, lambda vote: votes.__setitem__(vote.trait, vote))
        if interrupted():
            raise KeyboardInterrupt
    return [votes[number] for number, _ in traits]


@contextmanager
def stopping(view: View, seconds: float | None) -> Iterator[None]:
    """Set the stop word of a view's budget `seconds` seconds after the block begins (None: never), unless the block has ended."""
    timer = threading.Timer(seconds or 0.0, view.budget.stop.__setitem__, (0, 1))
    timer.daemon = True
    if seconds is not None:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed within the ``with`` block.

    `KeyboardInterrupt` alone does not show this, because the runner treats each exception as an error of a trait.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    signals: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, _frame: object) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield lambda: bool(signals)
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def asking(bot: Bot) -> Iterator[Callable[[View], Ballot]]:
    """Yield a function that returns the ballot of this bot for a view, with the nodes of the view."""
    with Asker(bot, bot.build()) as asker:

        def ballot(view: View) -> Ballot:
            seconds, limit = (SECONDS, LIMIT) if view.budget.nodes is None else (None, LIMIT_WITH_NODES)
            return ballot_of(bot, asker.votes(view, range(len(bot.traits)), seconds=seconds, limit=limit), view)

        yield ballot


def best_moves(bot: Bot | str | Path, view: View) -> set[str]:
    """Return the moves that a bot may choose: the candidates with the largest sum of votes, by their names in the protocol.

    Several moves may tie. `bot` is a bot, its file, or its name. The traits run in this process, with the budget of the view.
    Raises `UsageError` for a bot that cannot be loaded.
    """
    loaded = bot if isinstance(bot, Bot) else load_bot(str(bot))
    traits = [behaviour for _, behaviour in loaded.build()]
    warm()
    votes = ask_here(list(enumerate(traits)), view, SECONDS if view.budget.nodes is None else None)
    return moves_of(ballot_of(loaded, votes, view))


def moves_of(ballot: Ballot) -> set[str]:
    """Return the moves that a bot may choose by this ballot: the candidates with the largest sum of votes."""
    most = max(ballot.sums[move] for move in ballot.candidates)
    return {DIRECTIONS[move] for move in ballot.candidates if ballot.sums[move] == most}


def ballot_of(bot: Bot, votes: Sequence[Vote], view: View) -> Ballot:
    """Return the ballot of a bot whose traits vote like this."""
    answers = [None if vote.votes is None else list(vote.votes) for vote in votes]
    entries = [BallotEntry(spec.label, spec.weight, answer) for spec, answer in zip(bot.traits, answers, strict=True)]
    return tally(entries, view.moves, lambda: view.rng("tie"))
