"""The machines of a cluster, as the driver knows them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from vindibot.arena.report.live import GameRate
from vindibot.arena.results import MachineLine, MachineStatus
from vindibot.cluster.queue import ClusterGame, WaitingGames

#: Seconds without new games for a machine that has lost a game. Within this time a poll finds the reason.
REST_SECONDS = 3.0


@dataclass
class ClusterMachine:
    """A machine of the cluster, which is a Dask worker. It plays at most `slots` games at once.

    `line` describes the machine in the results; it is None until the machine has proved its build. `refused` says why the machine
    gets no game (empty: not refused). `silent` says whether it gives no sign of life. `failures` counts the proofs that were
    lost.

    `seen` is the time of the last sign of life, by the scheduler's clock. `heard` is our monotonic time when `seen` last changed.
    """

    address: str
    name: str
    slots: int
    seen: float
    heard: float = field(default_factory=time.monotonic)
    rests_until: float = 0.0
    failures: int = 0
    line: MachineLine | None = None
    refused: str = ""
    silent: bool = False
    running: dict[asyncio.Task[None], ClusterGame] = field(default_factory=dict)
    preparing: asyncio.Task[None] | None = None

    @property
    def plays(self) -> bool:
        """Whether this machine may get games."""
        return not self.missing

    @property
    def missing(self) -> str:
        """The reason why this machine plays no games, empty if it plays."""
        if self.refused:
            return f"refused: {self.refused}"
        if self.silent:
            return "gives no sign of life"
        return "" if self.line is not None else "proves its build"

    def has_room(self, game: ClusterGame) -> bool:
        """Return whether this machine can play a game now. A suspect game needs a machine without other games."""
        if not self.plays or time.monotonic() < self.rests_until or any(other.suspect for other in self.running.values()):
            return False
        return not self.running if game.suspect else len(self.running) < self.slots

    def rest(self) -> None:
        """Give this machine no games for a while."""
        self.rests_until = time.monotonic() + REST_SECONDS


class ClusterMachines:
    """The present machines, and what is known about machines that are gone. Games of lost machines go back to `queue`.

    `lost_s` is the number of seconds without a sign of life after which a machine is lost. `prepare` lets a new machine prove its
    build, and `notify` gets lines of text for people.
    """

    def __init__(
        self,
        queue: WaitingGames,
        lost_s: float,
        prepare: Callable[[ClusterMachine], asyncio.Task[None]],
        notify: Callable[[str], None],
    ) -> None:
        self._queue, self._lost_s, self._prepare, self._notify = queue, lost_s, prepare, notify
        self._present: dict[str, ClusterMachine] = {}
        self._gone_since: dict[str, float] = {}
        self._played: Counter[str] = Counter()
        self._rates: dict[str, GameRate] = {}

    def present(self) -> list[ClusterMachine]:
        """Return the present machines. Any thread may call this method, `slots` and `statuses`."""
        return list(self._present.values())

    def slots(self) -> int:
        """Return the number of games that all machines play at once, at least 1."""
        return max(1, sum(one.slots for one in self.present() if one.plays))

    def statuses(self) -> list[MachineStatus]:
        """Return the state of each machine. Machines that are gone are included."""
        found: dict[str, MachineStatus] = {}
        for one in self.present():
            name = one.line.name if one.line is not None else one.name
            slots = (found[name].workers if name in found else 0) + (one.slots if one.plays else 0)
            rate = self._rates[name].per_minute() if name in self._rates else 0.0
            found[name] = MachineStatus(name, slots, self._played[name], rate, "" if slots else one.missing)
        for name, since in list(self._gone_since.items()):
            if name not in found:
                found[name] = MachineStatus(name, 0, self._played[name], 0.0, f"gone for {time.monotonic() - since:.0f} s")
        return sorted(found.values(), key=lambda one: one.name)

    def count(self, name: str) -> None:
        """Add 1 to the number of games that the machine `name`, which has stated its name, has played."""
        self._played[name] += 1
        self._rates[name].tick()

    def rename(self, one: ClusterMachine, name: str) -> None:
        """Set the name of a machine, which it has stated itself."""
        one.name = name
        self._rates.setdefault(name, GameRate())
        self._gone_since.pop(name, None)

    def compare(self, workers: dict[str, dict[str, Any]]) -> None:
        """Compare the machines with the workers of the scheduler: find new, lost and silent machines."""
        for address, info in workers.items():
            one = self._present.get(address)
            if one is None:
                one = self._present[address] = ClusterMachine(address, _name_of(info), int(info["nthreads"]), info["last_seen"])
                self._gone_since.pop(one.name, None)
            if one.line is None and not one.refused and (one.preparing is None or one.preparing.done()):
                one.preparing = self._prepare(one)
            self._hear(one, info["last_seen"])
        for one in [one for address, one in self._present.items() if address not in workers]:
            self._lose(one, "is gone")
            self._forget(one)

    def _hear(self, one: ClusterMachine, seen: float) -> None:
        """Note the time `seen` of the last sign of life of a machine. Without a new sign for a long time it is silent."""
        now = time.monotonic()
        if seen != one.seen:
            one.seen, one.heard = seen, now
            if one.silent:
                one.silent = False
                self._notify(f"machine {one.name} gives signs of life again")
        elif not one.silent and now - one.heard > self._lost_s:
            one.silent = True
            self._lose(one, f"gives no sign of life for {self._lost_s:g} s")

    def _lose(self, one: ClusterMachine, what: str) -> None:
        """Take back the games of a lost machine, and tell the user. `what` says what happened to the machine."""
        count = self._take_back(one, lost=True)
        more = f"; its games go to other machines ({count})" if count else ""
        self._notify(f"machine {one.name} {what}{more}")

    def _forget(self, one: ClusterMachine) -> None:
        """Take back the games of a machine, and remove the machine."""
        self._take_back(one)
        if one.preparing is not None:
            one.preparing.cancel()
        del self._present[one.address]
        self._gone_since.setdefault(one.name, time.monotonic())

    def forget_all(self) -> None:
        """Take back all games, and remove all machines."""
        for one in self.present():
            self._forget(one)

    def take_back_all(self) -> None:
        """End the running games of all machines, so that they wait again."""
        for one in self.present():
            self._take_back(one)

    def _take_back(self, one: ClusterMachine, *, lost: bool = False) -> int:
        """End the running games of a machine, so that they wait again, and return their number. For `lost` see `put_back`."""
        games = [game for task, game in one.running.items() if not task.done()]
        for task in one.running:
            task.cancel()
        one.running.clear()
        for game in reversed(games):
            self._queue.put_back(game, lost=lost)
        return len(games)

    def with_room(self, game: ClusterGame) -> ClusterMachine | None:
        """Return the machine with the most room for a game, None if no machine has room."""
        room: Iterable[ClusterMachine] = [one for one in self._present.values() if one.has_room(game)]
        return max(room, key=lambda one: one.slots - len(one.running), default=None)


def _name_of(info: dict[str, Any]) -> str:
    """Return the name of a worker for messages, until the worker has stated the name of its machine."""
    name = info.get("name")
    return name.rpartition("/")[0] or name if isinstance(name, str) else str(info.get("host") or name)
