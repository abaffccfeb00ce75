"""The name and the processor of the machine that plays a game, as the lines of results have them."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vindibot.arena.results import MachineLine
from vindibot.base.output.text import counted

#: The environment variable of numba that names the processor to compile for, and its value for code that runs on any processor.
CPU_VARIABLE, GENERIC = "NUMBA_CPU_NAME", "generic"


@dataclass(frozen=True)
class MachineStatus:
    """The state of a machine that plays games of a tournament, as the terminal shows it.

    `workers` is the number of games that it plays at once. `games` is the number of games that it has played, `per_minute` the
    number of games that it plays per minute. `missing` is the reason why the machine does not play, and is empty if it plays.
    """

    name: str
    workers: int
    games: int
    per_minute: float
    missing: str = ""

    def __str__(self) -> str:
        """Return the name, and the rate or why the machine does not play."""
        rate = f"{self.per_minute:.0f} games/min, {self.workers} at once, {counted(self.games, 'game')}"
        return f"{self.name}: {self.missing or rate}"


@cache
def processor() -> str:
    """Return the model of this machine's processor.

    If kernels are compiled for any processor, return "generic" and the architecture instead, for example "generic x86_64".
    """
    if os.environ.get(CPU_VARIABLE) == GENERIC:
        return f"{GENERIC} {platform.machine()}"
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model")))
    return next(models, "") or platform.processor() or platform.machine()


def this_machine() -> MachineLine:
    """Return the name and the processor of this machine. The signature of its build is empty."""
    return MachineLine(name=platform.node(), cpu=processor())
