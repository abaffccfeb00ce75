"""Players: processes that play games of a tournament on a machine of the cluster.

A player is a child of the machine's fork server, like the workers of the local arena. It has no code of bots but the traits of
this project: a bot with other traits plays in a child process of its own (`vindibot.arena.seats.bots`).

Requests are pickled by the driver, which may run programs on this machine anyway. Answers are JSON (`vindibot.cluster.answers`)::

    request                  answer
    ("describe", name)       ProofAnswer: this machine, and the proof of its build
    ("load", Luggage)        LoadedAnswer: the problems with unpacking the files of the bots
    ("check",)               LoadedAnswer: the problems with the bots
    ("play", RemoteGame)     GameAnswer, or nothing if the player can start no processes any more
"""

from __future__ import annotations

import contextlib
import pickle
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from vindibot.arena.games import play_task
from vindibot.arena.results import this_machine
from vindibot.arena.seats.entrants import Entrant
from vindibot.cluster.answers import GameAnswer, LoadedAnswer, ProofAnswer
from vindibot.cluster.bundles import BundleError
from vindibot.cluster.checks import problems_of
from vindibot.cluster.proof import prove
from vindibot.cluster.travel import Luggage, RemoteGame, unpack_entrants
from vindibot.processes.child import Child
from vindibot.processes.frames import FAILED, FIRST_KIND, READY
from vindibot.processes.inside import Owner, from_owner
from vindibot.processes.requests import ChildLimits
from vindibot.processes.server import ForkServer
from vindibot.processes.tasks import TaskError, serve_tasks

#: What a player runs, and the name of its process.
RUN, NAME = "vindibot.cluster.player:serve", "vindibot-player"
#: Largest number of bytes of an answer.
LONGEST_ANSWER = 64 << 20
#: Largest number of seconds for the start of a player and for the proof of its build, since both may compile kernels.
PROVE_SECONDS = 900.0


def request_of(*parts: Any) -> bytes:
    """Return a request to a player as bytes."""
    return pickle.dumps(parts)


class ClusterPlayer:
    """Starts a player with the fork server `server`, and sends requests to it. One thread calls `ask`, any thread `kill`.

    `loaded` says whether the player has loaded the bots.
    """

    def __init__(self, server: ForkServer) -> None:
        self._child = Child(RUN, limits=ChildLimits(frame=LONGEST_ANSWER), spawns=True, name=NAME, server=server)
        self._ready = self._killed = self.loaded = False

    def ask(self, request: bytes, seconds: float) -> bytes:
        """Return the answer to a request. Wait at most `seconds` seconds.

        Raises `ChildEnded` if the player ends, `ChildLate` if it does not answer in time, and `TaskError` if the request fails.
        """
        if not self._ready:
            self._child.__enter__()
            self._ready = self._child.receive(PROVE_SECONDS).kind == READY
        self._child.send(FIRST_KIND, request)
        answer = self._child.receive(seconds)
        if answer.kind == FAILED:
            raise TaskError(answer.text)
        return answer.payload

    def is_usable(self) -> bool:
        """Return whether the player runs and can start processes for seats."""
        return not (self._killed or self._child.is_orphan()) and self._child.ending is None

    def kill(self) -> None:
        """End the player and its processes. Do not wait for their end."""
        self._killed = True
        self._child.kill()

    def close(self) -> None:
        """End the player and its processes, and release its descriptors."""
        self._child.close()


# ---- In the player ----


def serve(owner: Owner) -> None:
    """Answer requests until the owner ends. The docstring of the module lists them."""
    serve_tasks(owner, _Requests().answer)


class _Requests:
    """Answers the requests to this player."""

    def __init__(self) -> None:
        self._entrants: dict[str, Entrant] = {}

    def answer(self, request: bytes) -> bytes:
        """Return the answer to a request."""
        kind, *parts = from_owner(request)
        answers: dict[str, Callable[..., bytes]] = {
            "describe": _describe,
            "load": self._load,
            "check": self._check,
            "play": self._play,
        }
        return answers[kind](*parts)

    def _load(self, luggage: Luggage) -> bytes:
        try:
            self._entrants = unpack_entrants(luggage)
        except BundleError as problem:
            return LoadedAnswer(problems=(problem.message,)).encode()
        return LoadedAnswer(problems=()).encode()

    def _check(self) -> bytes:
        return LoadedAnswer(problems=tuple(problems_of([*self._entrants.values()]))).encode()

    def _play(self, game: RemoteGame) -> bytes:
        with contextlib.ExitStack() as stack:
            logs = ""
            if game.task.logs:
                with contextlib.suppress(OSError):  # the logs are lost, if the folder cannot be made
                    scratch = tempfile.TemporaryDirectory(prefix="vindibot-logs-", ignore_cleanup_errors=True)
                    logs = stack.enter_context(scratch)
            played = play_task(game.with_entrants(self._entrants, logs))
            return GameAnswer.of(played, _contents(logs)).encode()


def _describe(name: str) -> bytes:
    machine, proof = this_machine(), prove()
    told = {"name": name or machine.name, "signature": proof.signature}
    return ProofAnswer(machine=replace(machine, **told), proof=proof).encode()


def _contents(folder: str) -> dict[str, bytes]:
    """Return the content of each file in a folder by its name."""
    found = {}
    for path in sorted(Path(folder).iterdir()) if folder else []:
        with contextlib.suppress(OSError):
            found[path.name] = path.read_bytes()
    return found
