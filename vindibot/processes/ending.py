"""The end of a child process: why it ended, in words."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Literal

from vindibot.base.errors import VindibotError

#: The exit code of a child whose function raised `MemoryError`.
OUT_OF_MEMORY = 71

Kind = Literal["exited", "killed", "memory", "time", "stopped", "malformed", "not started"]


@dataclass(frozen=True)
class ChildEnding:
    """The end of a child process.

    - `kind`: why the process ended. "exited": it returned or exited. "killed": a signal ended it, or nobody reported its end.
      "memory": it had no memory left. "time": its time limit was over. "stopped": its owner killed it. "malformed": it sent
      an invalid message, or closed its pipe for frames. "not started": there was no process.
    - `code`: the exit code, negative for a signal that has killed or stopped the process. If the process has not started, the
      number of the system's error. None if it is unknown.
    - `seconds`: the time from the request for the process until its end.
    - `last_lines`: the last lines that the process printed.
    """

    kind: Kind
    code: int | None
    seconds: float
    last_lines: str = ""

    @property
    def by_us(self) -> bool:
        """Return whether the owner or a limit of ours has ended the process."""
        return self.kind in ("time", "stopped", "malformed")

    def __str__(self) -> str:
        """Return the reason in words."""
        match self.kind:
            case "memory":
                return "out of memory"
            case "time":
                return f"no end in {self.seconds:.1f} s"
            case "malformed":
                return "an invalid message"
            case "stopped":
                return "a kill by its owner"
            case "not started":
                return f"no start: {os.strerror(self.code)}" if self.code else "no start"
        return "an unknown exit code" if self.code is None else code_words(self.code)


def code_words(code: int) -> str:
    """Return an exit code in words: ``exit code 1`` for 1, ``signal SIGKILL`` for -9."""
    try:
        return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


class ChildEnded(VindibotError):  # noqa: N818  # an event, not always an error
    """A child process has ended. `ending` says why."""

    def __init__(self, ending: ChildEnding) -> None:
        super().__init__(f"a process ended with {ending}" + (f": {ending.last_lines}" if ending.last_lines else ""))
        self.ending = ending


class ChildLate(VindibotError):  # noqa: N818
    """A child process has not sent a frame in time."""
