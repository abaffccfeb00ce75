"""Running traits on one view: the same code in a worker process and in process.

A trait may do anything; whatever it does becomes a `Vote` with a status. What nothing here can do is stop a loop that
never looks up: that is what the pool's processes are for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, NamedTuple

from behaviours.base import Behaviour, SearchInfo, View, VoteError, plain_info, plain_votes
from vindibot.engine.failures import OutOfTime, place
from vindibot.games import Status

#: Longest text of a note (an exception's message, say) that is kept.
NOTE_LENGTH = 300


class Vote(NamedTuple):
    """What a trait has said so far: five numbers or None for no opinion, how long it took, and whether it has finished.

    `status` is "ok", "error" (it raised), "void" (its answer was no vote) or "late" (`OutOfTime` ended it); `note` says what
    was wrong, and in which line. `info` is what led to the votes (see `behaviours.base.plain_info`), None if they came
    alone.
    """

    trait: int
    votes: tuple[float, ...] | None
    ms: float
    final: bool
    status: Status = "ok"
    note: str = ""
    info: SearchInfo | None = None


Publish = Callable[[Vote], None]
Around = Callable[[int], None]


@dataclass
class _Anytime:
    """A generator at work: the latest votes it gave and the milliseconds it has used."""

    trait: int
    behaviour: Behaviour
    answers: Iterator[Any]
    votes: tuple[float, ...] | None = None
    ms: float = 0.0
    info: SearchInfo | None = None


def run(traits: Sequence[tuple[int, Behaviour]], view: View, publish: Publish, around: Around | None = None) -> None:
    """Let each trait (number, behaviour) vote on `view`, in this order; `publish` gets every vote at once.

    Plain traits answer first. Anytime traits then take turns, one ``yield`` each, until all have ended or the budget's
    stop word is set. Every trait publishes exactly one final vote unless the process dies before. `around`, if given, is
    called with a trait's number before its code runs (to direct what it prints).
    """
    at_work: list[_Anytime] = []
    for number, behaviour in traits:
        if around is not None:
            around(number)
        started = time.perf_counter()
        try:
            answer = behaviour.vote(view)
            if type(answer) is GeneratorType:
                at_work.append(_Anytime(number, behaviour, answer))
                continue
            votes, info = understood(answer)
        except BaseException as problem:
            publish(failure(number, behaviour, problem, _since(started)))
        else:
            publish(Vote(number, votes, _since(started), final=True, info=info))
    while at_work:
        for job in list(at_work):
            if around is not None:
                around(job.trait)
            if not _advance(job, view, publish):
                at_work.remove(job)


def understood(answer: Any) -> tuple[tuple[float, ...] | None, SearchInfo | None]:
    """The votes of an answer (as of `plain_votes`) and the thought behind them, None where nothing but votes was given.

    Raises `VoteError` for an answer that is no vote.
    """
    if not isinstance(answer, SearchInfo):
        return plain_votes(answer), None
    info = plain_info(answer)
    assert info is not None
    votes: Any = info.votes
    return votes, None if info == SearchInfo(votes) else info


def _advance(job: _Anytime, view: View, publish: Publish) -> bool:
    """One more ``yield`` of an anytime trait; False when it has published its final vote."""
    started = time.perf_counter()
    try:
        if view.budget.expired():
            close = getattr(job.answers, "close", None)
            if close is not None:
                close()
            raise StopIteration
        votes, info = understood(next(job.answers))
    except StopIteration:
        job.ms += _since(started)
        publish(Vote(job.trait, job.votes, job.ms, final=True, info=job.info))
        return False
    except BaseException as problem:
        publish(failure(job.trait, job.behaviour, problem, job.ms + _since(started)))
        return False
    job.ms += _since(started)
    job.votes, job.info = votes, info
    publish(Vote(job.trait, votes, job.ms, final=False, info=info))
    return True


def failure(trait: int, behaviour: Behaviour, problem: BaseException, ms: float) -> Vote:
    """The final vote of a trait that raised: what, and in which line of its own code (see `vindibot.engine.failures.place`)."""
    status: Status = "late" if isinstance(problem, OutOfTime) else "void" if isinstance(problem, VoteError) else "error"
    try:
        text = str(problem)
    except BaseException:  # an exception of a user's own whose __str__ raises
        text = "(its message cannot be printed)"
    kind = type(problem).__name__
    note = text if status != "error" else f"{kind}: {text}" if text else kind
    where = place(problem, behaviour)
    where = f" ({where})" if where else ""
    return Vote(trait, None, ms, final=True, status=status, note=note[: NOTE_LENGTH - len(where)] + where)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
