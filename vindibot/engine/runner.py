"""The function that runs traits on a view, both in worker processes and in the process that plays.

Each answer of a trait becomes a `Vote` with a status. An exception becomes a `Vote` too, with the line of the trait's own code
that raised it. This module cannot stop a loop that ignores its budget. The pool can: it kills the worker process.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import unwrap
from pathlib import Path
from types import CodeType, GeneratorType, TracebackType
from typing import Any, NamedTuple

import behaviours
import sim
import vindibot
from behaviours.base import Behaviour, SearchInfo, SplitBehaviour, View, VoteError, plain_info, plain_votes
from behaviours.notes import Note, Notes
from vindibot.base.writing import short
from vindibot.games.ballot import Status

#: Largest length of a note, such as the message of an exception, in characters.
NOTE_LENGTH = 300
#: Folders of code that does not belong to the user: the standard library, and this project with its traits.
_NOT_OWN = tuple(f"{Path(str(module.__file__)).parent}{os.sep}" for module in (os, behaviours, sim, vindibot))
#: A line of a stack that `faulthandler` has printed: the file and the number of the line.
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class OutOfTime(BaseException):
    """Raised inside a trait to end it, because it has not answered in time. The message names the time limit."""


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
    """Return the final vote of a trait that raised. Its note names the exception and the line (`location`).

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


# ---- The line that failed ----


def own_traceback(problem: BaseException, behaviour: Behaviour) -> TracebackType | None:
    """Return the traceback of a trait's exception up to the innermost frame of the trait's own code.

    A trait's own code is the file with its `vote` (or `statistics`), and all files outside libraries and this project. Return
    None if no frame is in the trait's own code.
    """
    chain = []
    trace = problem.__traceback__
    while trace is not None:
        chain.append(trace)
        trace = trace.tb_next
    vote = _vote(behaviour)
    home = "" if vote is None else vote.co_filename
    while chain and not _is_own(chain[-1].tb_frame.f_code.co_filename, home):
        chain.pop()
    part: TracebackType | None = None
    for entry in reversed(chain):
        part = TracebackType(part, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return part


def location(problem: BaseException, behaviour: Behaviour) -> str:
    """Return the innermost line of a trait's own code in the traceback of an exception, such as ``coward.py:12``.

    If the traceback has no such line, return the first line of `vote` (or `statistics`), or "" if this is no Python function. The
    path is relative to the current folder. For a file outside this folder the path has only its last two parts. So the result can
    be shown to other people without the names of the folders above.
    """
    vote = _vote(behaviour)
    file, line = (vote.co_filename, vote.co_firstlineno) if vote is not None else ("", 0)
    trace = own_traceback(problem, behaviour)
    while trace is not None:
        file, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return _place(file, line)


def line_of(stack: str, behaviour: Behaviour) -> str:
    """Return the innermost line of a trait's own code in a stack that `faulthandler` has printed; see `location`.

    If the stack has no such line, return "".
    """
    vote = _vote(behaviour)
    home = "" if vote is None else vote.co_filename
    for file, line in _FRAME.findall(stack):
        if _is_own(file, home):
            return _place(file, int(line))
    return ""


def _place(file: str, line: int) -> str:
    path = Path(short(file))
    return f"{Path(*path.parts[-2:]) if path.is_absolute() else path}:{line}" if file else ""


def debug_command(recording: Path, turn: int, label: str, bot: str = "") -> str:
    """Return the command that runs the trait `label` again on a recorded turn, and stops in the debugger at the line that raises.

    `recording` is the file of the recording. `bot` is the bot's file, "" if the trait can be found without this file.
    """
    words = ["vindibot", "turn", str(recording), "--turn", str(turn), *(["--bot", bot] if bot else []), "--trait", label, "--pdb"]
    return shlex.join(words)


def _vote(behaviour: Behaviour) -> CodeType | None:
    kind = type(behaviour)
    method = kind.statistics if issubclass(kind, SplitBehaviour) else kind.vote
    code: CodeType | None = getattr(unwrap(method), "__code__", None)
    return code


def _is_own(file: str, home: str) -> bool:
    return file == home or not (file.startswith(("<", *_NOT_OWN)) or any(part in file for part in _PACKAGES))
