"""The run of traits on a view, the same in a worker process and in this process.

Each result of a trait, an exception too, becomes a `Vote` with a status. Nothing here can stop a loop that ignores its budget;
the pool can kill its process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, NamedTuple

from behaviours.base import Behaviour, SearchInfo, View, VoteError, plain_info, plain_votes
from vindibot.engine.failures import OutOfTime, location
from vindibot.games import Status

#: Characters of the longest note, such as an exception's message.
NOTE_LENGTH = 300


class Vote(NamedTuple):
    """The latest votes of a trait: a number for each direction (0..4), or None for no opinion.

    `ms` are the milliseconds that it has used. `final` says that no better votes follow. `status` is "ok", "error" (it raised),
    "void" (its answer was no vote) or "late" (`OutOfTime` ended it). `note` says what was wrong, and in which line. `info` is the
    trait's `SearchInfo` (see `behaviours.base.plain_info`), None if it gave votes only.
    """

    trait: int
    votes: tuple[float, ...] | None
    ms: float
    final: bool
    status: Status = "ok"
    note: str = ""
    info: SearchInfo | None = None


Publish = Callable[[Vote], None]
BeforeTrait = Callable[[int], None]


@dataclass
class _Anytime:
    """A running anytime trait: its generator, its latest votes, and the milliseconds that it has used."""

    trait: int
    behaviour: Behaviour
    answers: Iterator[Any]
    votes: tuple[float, ...] | None = None
    ms: float = 0.0
    info: SearchInfo | None = None


def run(traits: Sequence[tuple[int, Behaviour]], view: View, publish: Publish, before: BeforeTrait | None = None) -> None:
    """Let each trait (number, behaviour) vote on `view`, in this order. Calls `publish` with every vote at once.

    Plain traits answer first. Then anytime traits alternate, one ``yield`` each, until all have ended or the stop word of the
    budget is set. Every trait publishes exactly one final vote, unless the process dies. `before` is called with a trait's
    number each time before its code runs.
    """
    running: list[_Anytime] = []
    for number, behaviour in traits:
        if before is not None:
            before(number)
        started = time.perf_counter()
        try:
            answer = behaviour.vote(view)
            if type(answer) is GeneratorType:
                running.append(_Anytime(number, behaviour, answer))
                continue
            votes, info = parse_answer(answer)
        except BaseException as problem:
            publish(failure(number, behaviour, problem, _since(started)))
        else:
            publish(Vote(number, votes, _since(started), final=True, info=info))
    while running:
        for job in list(running):
            if before is not None:
                before(job.trait)
            if not _advance(job, view, publish):
                running.remove(job)


def parse_answer(answer: Any) -> tuple[tuple[float, ...] | None, SearchInfo | None]:
    """The votes of an answer (see `plain_votes`) and its `SearchInfo`; None if the answer has votes only.

    Raises `VoteError` for an answer that is no vote.
    """
    if not isinstance(answer, SearchInfo):
        return plain_votes(answer), None
    info = plain_info(answer)
    assert info is not None
    votes: Any = info.votes
    return votes, None if info == SearchInfo(votes) else info


def _advance(job: _Anytime, view: View, publish: Publish) -> bool:
    """Run an anytime trait until its next ``yield``. Returns False when it has published its final vote."""
    started = time.perf_counter()
    try:
        if view.budget.expired():
            close = getattr(job.answers, "close", None)
            if close is not None:
                close()
            raise StopIteration
        votes, info = parse_answer(next(job.answers))
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
    """The final vote of a trait that raised. Its note has the exception and the line (`vindibot.engine.failures.location`)."""
    status: Status = "late" if isinstance(problem, OutOfTime) else "void" if isinstance(problem, VoteError) else "error"
    try:
        text = str(problem)
    except BaseException:  # a user's exception whose __str__ raises
        text = "(its message cannot be printed)"
    kind = type(problem).__name__
    note = text if status != "error" else f"{kind}: {text}" if text else kind
    where = location(problem, behaviour)
    where = f" ({where})" if where else ""
    return Vote(trait, None, ms, final=True, status=status, note=note[: NOTE_LENGTH - len(where)] + where)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
