"""Trials in a thread of this process, for systems that cannot run child processes. A thread cannot be ended."""

from __future__ import annotations

import faulthandler
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from behaviours.base import Behaviour, View
from vindibot.devtools.trials.response import Response, TrialPosition, ask, stopping
from vindibot.engine.runner import Vote, run

#: Compiled code that hangs blocks all threads. This number of seconds after its limit, the process prints its stack and ends.
STUCK = 5.0
#: Seconds between two looks at Ctrl-C while a trait runs.
LOOK_SECONDS = 0.1


def ask_in_thread(
    trait: Behaviour, position: TrialPosition, *, nodes: int | None, stop_after: float | None, timeout: float
) -> Response:
    """Return the response of a trait as `Trial.ask` does. A trait that hangs runs on in its thread."""
    found: list[Response] = []
    _wait_for(lambda: found.append(ask(trait, position.view(nodes), stop_after)), timeout)
    return found[0] if found else Response(problem=f"it did not answer within {timeout:g} s", hung=True, seconds=timeout)


def votes_in_thread(
    traits: Sequence[tuple[int, Behaviour]], position: TrialPosition, *, nodes: int | None, seconds: float | None, limit: float
) -> list[Vote]:
    """Return the last votes of these traits (number, behaviour) as `Trial.votes` does.

    If a trait still runs after `limit` seconds, its vote says so, and the traits without a vote are asked again.
    """
    found: dict[int, Vote] = {}
    while left := [trait for trait in traits if trait[0] not in found]:
        view, votes, begun = position.view(nodes), dict[int, Vote](), [(left[0][0], time.monotonic())]
        work = partial(_run, left, view, seconds, votes, begun)
        ended = _wait_for(work, limit * len(left), partial(_is_late, begun, limit))
        found |= {number: vote for number, vote in list(votes.items()) if vote.final}
        if not ended:
            number = begun[-1][0]
            found[number] = Vote(number, None, 1000 * limit, True, "late", f"no answer after {limit:g} s")
    return [found[number] for number, _ in traits]


def _is_late(begun: Sequence[tuple[int, float]], limit: float) -> bool:
    """Return whether the code of the last trait in `begun` (number, time) runs for more than `limit` seconds."""
    return time.monotonic() - begun[-1][1] > limit


def _run(
    traits: Sequence[tuple[int, Behaviour]],
    view: View,
    seconds: float | None,
    votes: dict[int, Vote],
    begun: list[tuple[int, float]],
) -> None:
    """Run traits on a view. Put their votes into `votes`, and add each start of a trait's code (number, time) to `begun`."""
    with stopping(view, seconds):
        run(
            traits,
            view,
            lambda vote: votes.__setitem__(vote.trait, vote),
            lambda number: begun.append((number, time.monotonic())),
        )


def _wait_for(work: Callable[[], object], seconds: float, is_late: Callable[[], bool] = lambda: False) -> bool:
    """Call `work` in a thread. Return whether it has returned, at the latest after `seconds` seconds or when `is_late`."""
    thread = threading.Thread(target=work, name="vindibot-trial", daemon=True)
    end = time.monotonic() + seconds
    faulthandler.dump_traceback_later(seconds + STUCK, exit=True, file=2)
    try:
        thread.start()
        while thread.is_alive() and not is_late() and (left := end - time.monotonic()) > 0:
            thread.join(min(left, LOOK_SECONDS))
    finally:
        faulthandler.cancel_dump_traceback_later()
    return not thread.is_alive()
