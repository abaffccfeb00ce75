"""The function that runs traits on a view, both in worker processes and in the process that plays.

Each answer of a trait becomes a `Vote` with a status. An exception becomes a `Vote` too. This module cannot stop a loop that
ignores its budget. The pool can stop such a loop: it kills the worker process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, NamedTuple

from behaviours.base import Behaviour, SearchInfo, View, VoteError, plain_info, plain_votes
from behaviours.notes import Note, Notes
from vindibot.engine.failures import OutOfTime, location
from vindibot.games.ballot import Status

#: Largest length of a note, such as the message of an exception, in characters.
NOTE_LENGTH = 300


class Vote(NamedTuple):
    """The latest votes of a trait.

    - `trait`: the number of the trait.
    - `votes`: a number for each direction 0..4, or None for no opinion.
    - `ms`: the milliseconds that the trait has used on this turn.
    - `final`: whether these are the trait's last votes on this turn.
    - `status`: "ok", "error" (the trait raised), "void" (its answer was no valid vote) or "late" (`OutOfTime` ended the trait).
    - `note`: the fault and its line, "" without a fault.
    - `info`: the trait's `SearchInfo` (see `behaviours.base.plain_info`), None if the trait gave votes only.
    - `notes`: what the trait has said on this turn (see `behaviours.base.View.note`).
    """

    trait: int
    votes: tuple[float, ...] | None
    ms: float
    final: bool
    status: Status = "ok"
    note: str = ""
    info: SearchInfo | None = None
    notes: tuple[Note, ...] = ()


Publish = Callable[[Vote], None]
BeforeTrait = Callable[[int], None]
#: Calls a trait (number, behaviour) with a view, and returns the trait's answer.
AskTrait = Callable[[int, Behaviour, View], Any]


@dataclass
class _Anytime:
    """A running anytime trait: its generator, its notes, its latest votes, and the milliseconds that it has used so far."""

    trait: int
    behaviour: Behaviour
    answers: Iterator[Any]
    notes: Notes
    votes: tuple[float, ...] | None = None
    ms: float = 0.0
    info: SearchInfo | None = None


def _ask(_number: int, behaviour: Behaviour, view: View) -> Any:
    return behaviour.vote(view)


def run(
    traits: Sequence[tuple[int, Behaviour]],
    view: View,
    publish: Publish,
    before: BeforeTrait | None = None,
    ask: AskTrait = _ask,
) -> None:
    """Let each trait (number, behaviour) vote on `view`, in this order. Call `publish` immediately with every vote.

    Plain traits answer first. Then anytime traits alternate, one ``yield`` each, until all have ended or the stop word is set.
    Each trait publishes exactly one final vote, unless the process dies. Each time before the code of a trait runs, `before` is
    called with the number of this trait. `ask` is the function that calls a trait; usually it calls the trait's `vote`.
    """
    running: list[_Anytime] = []
    for number, behaviour in traits:
        if before is not None:
            before(number)
        started = time.perf_counter()
        notes = view.notes = Notes()
        try:
            answer = ask(number, behaviour, view)
            if type(answer) is GeneratorType:
                running.append(_Anytime(number, behaviour, answer, notes))
                continue
            votes, info = parse_answer(answer)
        except BaseException as problem:
            publish(failure(number, behaviour, problem, _since(started))._replace(notes=notes.taken()))
        else:
            publish(Vote(number, votes, _since(started), final=True, info=info, notes=notes.taken()))
    while running:
        for job in list(running):
            if before is not None:
                before(job.trait)
            if not _advance(job, view, publish):
                running.remove(job)


def parse_answer(answer: Any) -> tuple[tuple[float, ...] | None, SearchInfo | None]:
    """Return the votes of a trait's answer (see `plain_votes`), and its `SearchInfo`, None if the answer has votes only.

    Raises `VoteError` for an answer that is no valid vote.
    """
    if not isinstance(answer, SearchInfo):
        return plain_votes(answer), None
    info = plain_info(answer)
    assert info is not None
    votes: Any = info.votes
    return votes, None if info == SearchInfo(votes) else info


def _advance(job: _Anytime, view: View, publish: Publish) -> bool:
    """Run an anytime trait until its next ``yield``, and publish its vote. Return False if this was its final vote."""
    started = time.perf_counter()
    view.notes = job.notes
    try:
        if view.budget.expired():
            close = getattr(job.answers, "close", None)
            if close is not None:
                close()
            raise StopIteration
        votes, info = parse_answer(next(job.answers))
    except StopIteration:
        job.ms += _since(started)
        publish(Vote(job.trait, job.votes, job.ms, final=True, info=job.info, notes=job.notes.taken()))
        return False
    except BaseException as problem:
        vote = failure(job.trait, job.behaviour, problem, job.ms + _since(started))
        publish(vote._replace(notes=job.notes.taken()))
        return False
    job.ms += _since(started)
    job.votes, job.info = votes, info
    publish(Vote(job.trait, votes, job.ms, final=False, info=info, notes=job.notes.taken()))
    return True


def failure(trait: int, behaviour: Behaviour, problem: BaseException, ms: float) -> Vote:
    """Return the final vote of a trait that raised. Its note names the exception and the line (`failures.location`).

    `ms` are the milliseconds that the trait has used.
    """
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
