"""Test runs of traits in another process: the traits vote on one position after the other.

If the process hangs or ends, the trial reports the failure and starts a new process. On a system that cannot run child processes,
the traits run in this process (see `vindibot.devtools.trials.thread`).
"""

from __future__ import annotations

import contextlib
import json
import pickle
import re
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from behaviours.base import Behaviour, View
from vindibot.base.errors import VindibotError
from vindibot.config.bots import Bot, import_path
from vindibot.devtools.trials import answering, asking
from vindibot.devtools.trials.answering import ASK, ASK_ALL, CLOCK, DEBUGGER, NAME, RUN, VOTE, TrialClock
from vindibot.devtools.trials.asking import Traits
from vindibot.devtools.trials.response import Response, TrialPosition
from vindibot.devtools.trials.thread import ask_in_thread, votes_in_thread
from vindibot.engine.failures import line_of
from vindibot.engine.runner import NOTE_LENGTH, Vote
from vindibot.engine.worker import TraitPlan
from vindibot.games.ballot import Ballot, Status, VoteLine
from vindibot.processes.child import Child
from vindibot.processes.ending import ChildEnded, ChildEnding, ChildLate
from vindibot.processes.frames import DONE, READY, ChildFrame
from vindibot.processes.requests import ChildLimits, Needs
from vindibot.processes.server import ForkServer
from vindibot.processes.support import supports_children, warn_of_traits_here

#: Largest number of seconds for building traits in another process. The build may have to compile kernels.
BUILD_TIMEOUT = 300.0
#: Seconds that a fork server may take to start a process.
START_TIMEOUT = 60.0
#: Number of times that a process is started before the start fails, if the fork server ends each time.
START_ATTEMPTS = 3
#: Seconds that the process of a late trait has to print its stack, and seconds to wait for its last output.
STACK_SECONDS, END_SECONDS = 1.0, 1.0
#: Largest length of an answer in bytes: `MOST_ANSWERS` answers.
LONGEST_FRAME = 1 << 23

#: A stack as `faulthandler` prints it.
_STACK = re.compile(r"^(?:Stack|Current thread .*) \(most recent call first\):\n((?:  File .*\n)+)", re.MULTILINE)


class TrialBuildError(VindibotError):
    """The traits cannot be built in another process. The message says why."""


class DebuggerWanted(Exception):  # noqa: N818  # an event
    """A trait has called `breakpoint`, but its process has no terminal."""


class Trial:
    """Traits in another process, for a ``with`` block. When the process ends, the text that the traits have printed is printed.

    `plans` describes the traits, which can be imported from `folders`. `behaviours` are the same traits in this process. Raises
    `TrialBuildError` if the process cannot build the traits.
    """

    def __init__(self, plans: Sequence[TraitPlan], behaviours: Sequence[Behaviour], folders: Sequence[str]) -> None:
        self._plans, self._behaviours, self._folders = list(plans), list(behaviours), tuple(folders)
        self._child: Child | None = None
        self._clock = TrialClock(bytearray(CLOCK.itemsize))

    @classmethod
    def of(cls, traits: Traits, bot: Bot) -> Self:
        """Return a trial of traits of a bot."""
        plans = [TraitPlan(spec.class_path, dict(spec.parameters)) for spec, _ in traits]
        return cls(plans, [behaviour for _, behaviour in traits], bot.folders)

    @property
    def needs(self) -> Needs:
        """The modules that the process should have at once."""
        return Needs(
            self._folders,
            tuple(dict.fromkeys(module for plan in self._plans if (module := plan.class_path.partition(":")[0]) != "__main__")),
        )

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def restart(self) -> None:
        """Replace the process by a new one."""
        self._end()
        self._begin()

    # -- all answers of one trait --

    def ask(self, position: TrialPosition, *, nodes: int | None, stop_after: float | None, timeout: float) -> Response:
        """Return the response of the first trait to a position, with a budget of `nodes` nodes (None: no limit).

        `stop_after` is as in `response.ask`. If the trait has not answered after `timeout` seconds, its process is killed.
        """
        if not supports_children():
            return ask_in_thread(self._behaviours[0], position, nodes=nodes, stop_after=stop_after, timeout=timeout)
        request = _request(position, nodes=nodes, stop_after=stop_after)
        killed = False
        while True:
            try:
                return self._response(request, timeout)
            except ChildLate:
                self._end()
                return Response(problem=f"it did not answer within {timeout:g} s", hung=True, seconds=timeout)
            except ChildEnded as ended:
                self._end()
                if killed or not _is_killed(ended.ending):
                    return Response(problem=f"its process ended with {ended.ending}", died=True)
                killed = True

    def _response(self, request: bytes, timeout: float) -> Response:
        child = self._running()
        child.send(ASK, request)
        frame = child.receive(timeout)
        with contextlib.suppress(ValueError):
            if frame.kind == DONE:
                return Response.from_json(frame.payload)
        raise _malformed(child)

    # -- the last votes of several traits --

    def votes(
        self,
        position: TrialPosition,
        traits: Sequence[int],
        *,
        nodes: int | None,
        seconds: float | None,
        limit: float,
        has_map: bool = False,
    ) -> list[Vote]:
        """Return the last vote of each of the traits with these numbers on a position; see `vindibot.engine.runner.run`.

        The stop word is set after `seconds` seconds (None: never). If a trait has run for `limit` seconds, or has ended the
        process, its vote says so, and the traits without a vote are asked again. With `has_map`, the view has its map before the
        first trait runs. If a trait calls `breakpoint`, the traits are asked in this process.
        """
        if not supports_children():
            asked = [(number, self._behaviours[number]) for number in traits]
            return votes_in_thread(asked, position, nodes=nodes, seconds=seconds, limit=limit)
        found: dict[int, Vote] = {}
        killed = False
        while left := [number for number in traits if number not in found]:
            request = _request(position, nodes=nodes, seconds=seconds, limit=limit, traits=left, has_map=has_map)
            status: Status = "killed"
            try:
                self._collect(request, found, left, limit)
                continue
            except DebuggerWanted:
                self._end()
                return asking.ask([self._behaviours[number] for number in traits], position.view(nodes), seconds)
            except ChildLate:
                status, words = "late", f"no answer after {limit:g} s"
            except ChildEnded as ended:
                if not killed and _is_killed(ended.ending):
                    killed = True
                    self._end()
                    continue
                words = f"its process ended with {ended.ending}"
            number = next((one for one in left if one == self._clock.number), left[0])
            ms = 1000 * min(limit, self._clock.used)
            where = line_of(self._end(), self._behaviours[number])
            found[number] = Vote(number, None, ms, True, status, words + (f" ({where})" if where else ""))
        return [found[number] for number in traits]

    def _collect(self, request: bytes, found: dict[int, Vote], left: Collection[int], limit: float) -> None:
        """Ask the traits `left`, and add their votes to `found`. Raises `ChildLate` if a trait has run for `limit` seconds."""
        child = self._running()
        self._clock.rest()
        child.send(ASK_ALL, request)
        end = time.monotonic() + limit * len(left) + STACK_SECONDS
        while True:
            seconds = min(limit - self._clock.used, end - time.monotonic())
            if seconds <= 0:
                self._await_stack(child)
                raise ChildLate(f"no answer after {limit:g} s")
            try:
                frame = child.receive(seconds)
            except ChildLate:
                continue  # another trait may run by now
            if frame.kind == DEBUGGER:
                raise DebuggerWanted
            if frame.kind == DONE and not {*left} - {*found}:
                return
            if frame.kind != VOTE or frame.channel not in left:
                raise _malformed(child)
            found[frame.channel] = _vote(child, frame)

    def _await_stack(self, child: Child) -> None:
        """Wait until the process of a late trait has printed its stack."""
        end = time.monotonic() + STACK_SECONDS
        while time.monotonic() < end and not _STACK.search(child.output.decode(errors="replace")):
            with contextlib.suppress(ChildLate):
                child.receive(0.02)

    # -- the process --

    def _begin(self) -> None:
        if supports_children():
            self._running()
        else:
            warn_of_traits_here()

    def _running(self) -> Child:
        """Return the process. Start it if it does not run."""
        if self._child is None:
            self._start()
        assert self._child is not None
        return self._child

    def _start(self) -> None:
        if answering.serving():
            raise TrialBuildError("the program has no `if __name__ == '__main__':` above the code that runs the trait")
        server = ForkServer.of_process()
        for attempt in range(1, START_ATTEMPTS + 1):
            server.start()
            needs = self.needs if server.path == import_path() else Needs()  # else the process imports the modules itself
            setup = pickle.dumps((self._plans, self._folders, import_path(), str(Path.cwd()), _main_program()))
            limits = ChildLimits(frame=LONGEST_FRAME)
            child = Child(RUN, setup, needs=needs, limits=limits, memory=CLOCK.itemsize, kinds=(VOTE, DEBUGGER), name=NAME)
            self._child, self._clock = child, TrialClock(child.memory)
            try:
                child.__enter__()
                frame = self._first_frame(child)
                if frame.kind == READY:
                    return
                problem = frame.text
            except ChildLate as late:
                if attempt < START_ATTEMPTS and not child.pid:  # the server does not answer
                    server.close()
                    self._end()
                    continue
                problem = "it took too long" if child.pid else late.message
            except ChildEnded as ended:
                problem = f"the process ended with {ended.ending}"
                if attempt < START_ATTEMPTS and (ended.ending.kind == "not started" or _is_killed(ended.ending)):
                    self._end()
                    continue
            except BaseException:
                self._end()
                raise
            self._end()
            raise TrialBuildError(problem)

    def _first_frame(self, child: Child) -> ChildFrame:
        """Return what the process reports about its start. Raises `ChildLate`."""
        try:
            return child.receive(START_TIMEOUT)
        except ChildLate:
            if not child.pid:
                raise
        return child.receive(BUILD_TIMEOUT - START_TIMEOUT)

    def _end(self) -> str:
        """End the process, and print what the traits have printed. Return the stack that the process has printed, if any."""
        child, self._child = self._child, None
        if child is None:
            return ""
        child.kill()
        with contextlib.suppress(ChildEnded, ChildLate):
            while True:
                child.receive(END_SECONDS)
        self._clock = TrialClock(bytearray(CLOCK.itemsize))  # so that the memory is released
        child.close()
        printed = child.output.decode(errors="replace")
        sys.stdout.write(_STACK.sub("", printed))
        return next(iter(_STACK.findall(printed)[-1:]), "")


@contextlib.contextmanager
def voting_elsewhere(bot: Bot) -> Iterator[Callable[[View], Ballot]]:
    """Yield a function that returns the ballot of this bot for a view. The traits run in another process, with the nodes of the
    view."""
    with Trial.of(bot.build(), bot) as trial:

        def ballot(view: View) -> Ballot:
            position = TrialPosition.of(view)
            nodes = view.budget.nodes
            seconds, limit = (asking.SECONDS, asking.LIMIT) if nodes is None else (None, asking.LIMIT_WITH_NODES)
            votes = trial.votes(position, range(len(bot.traits)), nodes=nodes, seconds=seconds, limit=limit)
            return asking.ballot_of(bot, votes, view)

        yield ballot


def _request(position: TrialPosition, **fields: Any) -> bytes:
    head = {"me": int(position.me), "seed": int(position.seed), **fields}
    return json.dumps(head).encode() + b"\n" + position.games.tobytes() + position.recent.tobytes()


def _vote(child: Child, frame: ChildFrame) -> Vote:
    """Return the vote in a frame. Raises `ChildEnded` after it has killed the process, if the frame has none."""
    try:
        entry = VoteLine.model_validate_json(frame.payload).entry()
    except ValueError:
        raise _malformed(child) from None
    votes = None if entry.votes is None else tuple(entry.votes)
    return Vote(frame.channel, votes, entry.ms, True, entry.status, entry.note[:NOTE_LENGTH], entry.info, entry.notes)


def _malformed(child: Child) -> ChildEnded:
    """Kill a process that has sent an invalid message, and return its end as an error."""
    child.end_as_malformed()
    assert child.ending is not None
    return ChildEnded(child.ending)


def _is_killed(ending: ChildEnding) -> bool:
    """Return whether something may have killed the process that is not the trait, so that it is worth a second try."""
    return ending.kind == "killed" and ending.code in (None, -signal.SIGKILL)


def _main_program() -> tuple[str, str]:
    """Return the module and the file of the program that runs, each "" if there is none."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    return "" if spec is None else spec.name, getattr(main, "__file__", None) or ""
