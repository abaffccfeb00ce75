"""Where a trait failed, and how to go on: the line of its own code, and the command that stops there in the debugger."""

from __future__ import annotations

import os
import shlex
from inspect import unwrap
from pathlib import Path
from types import CodeType, TracebackType

import behaviours
import sim
import vindibot
from behaviours.base import Behaviour

#: Folders whose code is no user's own: the standard library, and this project with the traits that it ships.
_NOT_OWN = tuple(f"{Path(str(module.__file__)).parent}{os.sep}" for module in (os, behaviours, sim, vindibot))
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class OutOfTime(BaseException):
    """Raised within a trait that has not answered in time, to end it. The message says how long it was waited for."""


def own_part(problem: BaseException, behaviour: Behaviour) -> TracebackType | None:
    """The traceback of an exception that a trait raised, without the frames below the innermost one of the trait's own code.

    A trait's own code is the file that has its `vote`, and any other file that belongs neither to a library nor to this
    project. None if the exception passed no such frame.
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


def place(problem: BaseException, behaviour: Behaviour) -> str:
    """Where a trait raised: ``coward.py:12``, the innermost line of its own code, or where its `vote` begins if the exception
    passed no line of it. Empty for a `vote` that is no Python function.

    The path is relative to the current folder, or its last two parts: the folders above are not for others to read.
    """
    vote = _vote(behaviour)
    file, line = (vote.co_filename, vote.co_firstlineno) if vote is not None else ("", 0)
    trace = own_part(problem, behaviour)
    while trace is not None:
        file, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return f"{_short(file)}:{line}" if file else ""


def debug_command(recording: Path, turn: int, label: str, bot: str = "") -> str:
    """The command that runs a trait on a recorded turn again and stops where it raises. `bot` is the bot's file, where the
    trait cannot be found without it."""
    words = ["vindibot", "turn", str(recording), "--turn", str(turn), *(["--bot", bot] if bot else []), "--trait", label, "--pdb"]
    return shlex.join(words)


def _vote(behaviour: Behaviour) -> CodeType | None:
    code: CodeType | None = getattr(unwrap(type(behaviour).vote), "__code__", None)
    return code


def _is_own(code: CodeType, home: CodeType | None) -> bool:
    file = code.co_filename
    if home is not None and file == home.co_filename:
        return True
    return not (file.startswith(("<", *_NOT_OWN)) or any(part in file for part in _PACKAGES))


def _short(file: str) -> str:
    path = Path(file)
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(Path(*path.parts[-2:]))
