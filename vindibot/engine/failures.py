"""Finds the line of a trait's own code that raised an exception, and the command that stops there in the debugger."""

from __future__ import annotations

import os
import re
import shlex
from inspect import unwrap
from pathlib import Path
from types import CodeType, TracebackType

import behaviours
import sim
import vindibot
from behaviours.base import Behaviour, SplitBehaviour
from vindibot.base.writing import short

#: Folders of code that does not belong to the user: the standard library, and this project with its traits.
_NOT_OWN = tuple(f"{Path(str(module.__file__)).parent}{os.sep}" for module in (os, behaviours, sim, vindibot))
#: A line of a stack that `faulthandler` has printed: the file and the number of the line.
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)
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
    vote = _vote(behaviour)
    home = "" if vote is None else vote.co_filename
    while chain and not _is_own(chain[-1].tb_frame.f_code.co_filename, home):
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
