"""Finds the line of a trait's own code that raised an exception, and the command that stops there in the debugger."""

from __future__ import annotations

import os
import shlex
from inspect import unwrap
from pathlib import Path
from types import CodeType, TracebackType

import behaviours
import sim
import vindibot
from behaviours.base import Behaviour, SplitBehaviour
from vindibot.base import short

#: Folders of code that does not belong to the user: the standard library, and this project with its traits.
_NOT_OWN = tuple(f"{Path(str(module.__file__)).parent}{os.sep}" for module in (os, behaviours, sim, vindibot))
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class OutOfTime(BaseException):
    """Raised inside a trait to end it, because it has not answered in time. The message names the time limit."""


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
    home = _vote(behaviour)
    while chain and not _is_own(chain[-1].tb_frame.f_code, home):
        chain.pop()
    part: TracebackType | None = None
    for one in reversed(chain):
        part = TracebackType(part, one.tb_frame, one.tb_lasti, one.tb_lineno)
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


def _is_own(code: CodeType, home: CodeType | None) -> bool:
    file = code.co_filename
    if home is not None and file == home.co_filename:
        return True
    return not (file.startswith(("<", *_NOT_OWN)) or any(part in file for part in _PACKAGES))
