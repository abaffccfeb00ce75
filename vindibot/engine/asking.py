"""Traits that are asked outside of a game: for their votes on a recorded turn, or on trial.

They run in a worker process, which may hang or end. Then the answer says so, and the next request starts a new worker. On a
system that cannot run child processes, the traits run in this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import pickle
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import current_process
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from behaviours.base import Behaviour, View
from sim.game import DIRECTIONS
from sim.kernels import warm
from vindibot.base.errors import VindibotError
from vindibot.base.system import supports_children, warn_of_traits_here
from vindibot.config.bots import Bot, load_bot
from vindibot.config.traits import TraitSpec
from vindibot.engine.deadline import stopping
from vindibot.engine.health import TraitHealth
from vindibot.engine.inline import STUCK, Inline
from vindibot.engine.runner import Vote, line_of, run
from vindibot.engine.trial import Response, TrialPosition, ask
from vindibot.games.ballot import Ballot, BallotEntry, tally

if TYPE_CHECKING:
    from vindibot.engine.worker import TraitProcess

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


class TraitWorker:
    """Traits in a worker process that one thread asks, for a ``with`` block. After its end, the next request starts it again.

    `plans` has the arguments of a `vindibot.engine.worker.TraitPlan` per trait. The traits can be imported from `folders`. Raises
    `VindibotError` if the process cannot build the traits; the message begins with `complaint`. On a system that cannot run child
    processes, no process is started.
    """

    def __init__(self, plans: Sequence[tuple[Any, ...]], folders: Sequence[str], complaint: str = "") -> None:
        self._plans, self._folders, self._complaint = plans, folders, complaint
        self._process: TraitProcess | None = None
        self._shown = self._number = 0
        self._took = 0.0

    def __enter__(self) -> Self:
        if supports_children():
            self._started()
        else:
            warn_of_traits_here()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()

    def _started(self) -> TraitProcess:
        """Return the process, which has built the traits."""
        from vindibot.engine.worker import WORKER, TraitPlan, TraitProcess
        from vindibot.engine.worker_process import WorkerEnded, WorkerLate

        if self._process is not None:
            return self._process
        if current_process().name == WORKER:
            raise VindibotError("the program has no `if __name__ == '__main__':` above the code that runs the trait")
        self._process = TraitProcess([TraitPlan(*plan) for plan in self._plans], self._folders, captures=False)
        self._shown = 0
        try:
            problem = pickle.loads(self._process.start().receive(BUILD_SECONDS))
        except (WorkerEnded, WorkerLate, OSError, EOFError) as error:
            problem = str(error)
        if problem:
            self.end()
            raise VindibotError(f"{self._complaint}{problem}")
        return self._process

    def _request(self, view: View, traits: Sequence[int], seconds: float | None, limit: float, *, trial: bool = False) -> Any:
        """Return the answer to a request (see `vindibot.engine.worker.serve`), or None if the process has ended.

        The stop word is set after `seconds` seconds (None: never). If there is no answer after `limit` seconds, the process ends.
        """
        from vindibot.engine.worker import TurnRequest, encode_turn
        from vindibot.engine.worker_process import WorkerEnded, WorkerLate

        process = self._started()
        self._number += 1
        began = time.monotonic()
        turn = self._number, encode_turn(view), view.me, limit, view.budget.nodes, view.seed, traits
        process.ask(TurnRequest(*turn, "trial", seconds) if trial else TurnRequest(*turn))
        try:
            if not trial and seconds is not None:
                with contextlib.suppress(WorkerLate):
                    return pickle.loads(process.receive(min(limit, seconds)))
                process.memory.stop[0] = 1
            return pickle.loads(process.receive(limit + KILL_AFTER - (time.monotonic() - began)))
        except WorkerLate:  # it cannot end itself
            process.close()
        except WorkerEnded:
            pass
        finally:
            self._took = time.monotonic() - began
        return None

    def _ended(self) -> tuple[bool, str, str]:
        """End the process. Return whether it ended because its time was over, its end in words, and its stack (`show_output`)."""
        ending = self._process.ending if self._process is not None else None
        return ending is not None and ending.kind in ("time", "stopped"), f"its process ended with {ending}", self.end()

    def _new_output(self) -> str:
        """Return what the process has printed since the last call."""
        if self._process is None:
            return ""
        self._process.take()
        text = self._process.output.decode(errors="replace")
        new, self._shown = text[self._shown :], len(text)
        return new

    def show_output(self) -> str:
        """Print what the traits have printed since the last call. Return the stack that the process has printed, if any."""
        new = self._new_output()
        sys.stdout.write(_STACK.sub("", new))
        return "".join(stack for stack in _STACK.findall(new) if stack)

    def end(self) -> str:
        """End the process, and print its output; see `show_output`."""
        if self._process is not None:
            self._process.close()
        stack = self.show_output()
        self._process = None
        return stack


class Asker(TraitWorker):
    """Asks traits on one view after the other, for a ``with`` block. What the traits print is printed after each answer.

    `traits` are traits of the bot `bot`, with their specifications. Raises `VindibotError` if a worker cannot build them.
    """

    def __init__(self, bot: Bot, traits: Traits) -> None:
        plans = [(spec.class_path, dict(spec.parameters)) for spec, _ in traits]
        super().__init__(plans, bot.folders, "a worker process could not build the traits: ")
        self._behaviours = [behaviour for _, behaviour in traits]

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
            answer = self._request(view, left, seconds, limit)
            assert self._process is not None
            memory = self._process.memory
            for trait in left:
                vote = memory.get(self._number, trait)
                if vote is not None and vote.final:
                    votes[trait] = vote
            if answer is None:
                running = int(memory.running[0]) if int(memory.running[0]) in left else left[0]
                late, words, stack = self._ended()
                words = f"no answer after {limit:g} s" if late else words
                if where := line_of(stack, self._behaviours[running]):
                    words += f" ({where})"
                ms = 1000 * min(limit, self._took)
                votes[running] = Vote(running, None, ms, True, "late" if late else "killed", words)
            elif any(vote.note.startswith("BdbQuit") for vote in votes.values()):  # a worker has no terminal
                self._new_output()
                return ask_here([(number, self._behaviours[number]) for number in traits], view, seconds)
            else:
                self.show_output()
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


class Trial(TraitWorker):
    """Asks one trait for its `Response` to positions, for a ``with`` block. When its process ends, its output is printed.

    The trait can be imported from `folders`. Raises `VindibotError` if a worker cannot build it.
    """

    def __init__(self, trait: Behaviour, folders: Sequence[str]) -> None:
        self.trait, kind = trait, type(trait)
        program = getattr(sys.modules["__main__"], "__file__", None) if kind.__module__ == "__main__" else None
        super().__init__([(f"{kind.__module__}:{kind.__qualname__}", trait.model_dump(mode="json"), program or "")], folders)

    def ask(self, position: TrialPosition, *, nodes: int | None, stop_after: float | None, timeout: float) -> Response:
        """Return the response of the trait to a position, with a budget of `nodes` nodes (None: no limit).

        `stop_after` is as in `vindibot.engine.trial.ask`. If there is no answer after `timeout` seconds, the process ends.
        """
        if not supports_children():
            return self._ask_in_thread(position, nodes, stop_after, timeout)
        response: Response | None = self._request(position.view(nodes), [0], stop_after, timeout, trial=True)
        if response is not None:
            return response
        late, words, _ = self._ended()
        return _hung(timeout) if late else Response(problem=words, died=True)

    def _ask_in_thread(self, position: TrialPosition, nodes: int | None, stop_after: float | None, timeout: float) -> Response:
        """Return the response of the trait, which runs on in a thread of this process if it hangs."""
        responses: list[Response] = []
        work = partial(lambda view: responses.append(ask(self.trait, view, stop_after)), position.view(nodes))
        thread = threading.Thread(target=work, name="vindibot-trial", daemon=True)
        faulthandler.dump_traceback_later(timeout + STUCK, exit=True)
        try:
            thread.start()
            thread.join(timeout)
        finally:
            faulthandler.cancel_dump_traceback_later()
        return responses[0] if responses else _hung(timeout)


def _hung(timeout: float) -> Response:
    return Response(problem=f"it did not answer within {timeout:g} s", hung=True, seconds=timeout)


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
