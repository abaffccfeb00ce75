"""A worker process: it builds the bot's traits once, then answers one request per turn with a stream of votes.

It is told everything it needs with each request and remembers nothing but compiled kernels and tables of the map, so a
replacement knows as much as the worker it replaces. What travels are flat bytes (see `Request` and `Message`).
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from behaviours.base import Behaviour, Budget, View
from sim.game import GAME, Games
from vindibot.runner import Vote, run

#: Turns of ours that a view remembers.
HISTORY = 8
#: Characters that a trait may print per turn; what goes beyond is counted and dropped.
OUTPUT_LIMIT = 4096
#: An anytime trait may publish this many answers at once, and then one a millisecond.
BURST = 64
#: Seconds after its deadline and grace at which a worker ends itself, if nobody did it (its parent is gone, then).
LAST_RESORT = 0.5

_REQUEST = struct.Struct("<IIddqQBBB")
_MESSAGE = struct.Struct("<IBBIf5dI")
READY, FAILED, VOTE, PARTIAL, NO_OPINION, PARTIAL_NO_OPINION, ERROR, VOID, OUTPUT = range(9)
_STATUS = {ERROR: "error", VOID: "void"}


@dataclass(frozen=True)
class TraitPlan:
    """How to build a trait in another process: ``module:Class`` and its parameters."""

    class_path: str
    parameters: dict[str, Any]

    def build(self) -> Behaviour:
        """Import the class and make the behaviour."""
        module, _, name = self.class_path.partition(":")
        built: Behaviour = getattr(importlib.import_module(module), name)(**self.parameters)
        return built


def encode_request(
    number: int, games: Games, me: int, history: Games, seconds: float, grace: float, nodes: int | None, seed: int, traits: Sequence[int]
) -> bytes:
    """One turn for one worker: request `number`, the game, our hero, our last turns, the time and the traits to run.

    `seconds` is how long the turn lasts, `grace` how long after that the worker may still live; for its last resort only.
    """
    kept = history[-HISTORY:]
    head = _REQUEST.pack(
        number, 0, seconds, grace, -1 if nodes is None else nodes, seed & 0xFFFFFFFFFFFFFFFF, me, len(kept), len(traits)
    )
    body = b"".join((head, bytes(traits), games.tobytes(), kept.tobytes()))
    return struct.pack("<I", len(body)) + body


def decode_messages(buffer: bytearray) -> list[tuple[int, int, Vote | str]]:
    """Take the whole messages off the front of `buffer`: (kind, request number, vote or text)."""
    found: list[tuple[int, int, Vote | str]] = []
    start, size = 0, _MESSAGE.size
    while len(buffer) - start >= size:
        number, kind, trait, _, ms, *votes, length = _MESSAGE.unpack_from(buffer, start)
        if len(buffer) - start < size + length:
            break
        text = bytes(buffer[start + size : start + size + length]).decode(errors="replace") if length else ""
        start += size + length
        if kind in (READY, FAILED):
            found.append((kind, number, text))
        elif kind == OUTPUT:
            found.append((kind, number, Vote(trait, None, 0.0, final=False, note=text)))
        else:
            opinion = kind in (VOTE, PARTIAL)
            final = kind not in (PARTIAL, PARTIAL_NO_OPINION)
            vote = Vote(trait, tuple(votes) if opinion else None, ms, final, _STATUS.get(kind, "ok"), text)
            found.append((kind, number, vote))
    del buffer[:start]
    return found


def _encode(number: int, kind: int, trait: int = 0, ms: float = 0.0, votes: Sequence[float] | None = None, text: str = "") -> bytes:
    body = text.encode(errors="replace")
    return _MESSAGE.pack(number, kind, trait, 0, ms, *(votes or (0.0,) * 5), len(body)) + body


class _Captured(io.TextIOBase):
    """What traits print: kept up to a limit per trait and turn, the rest counted."""

    def __init__(self) -> None:
        self.trait = 0
        self.texts: dict[int, list[str]] = {}
        self.lengths: dict[int, int] = {}

    def write(self, text: str) -> int:
        used = self.lengths.get(self.trait, 0)
        self.lengths[self.trait] = used + len(text)
        if used < OUTPUT_LIMIT:
            self.texts.setdefault(self.trait, []).append(text[: OUTPUT_LIMIT - used])
        return len(text)

    def take(self) -> list[tuple[int, str]]:
        """What each trait printed since the last call."""
        if not self.lengths:
            return []
        taken = []
        for trait, parts in self.texts.items():
            text, length = "".join(parts), self.lengths[trait]
            if length > OUTPUT_LIMIT:
                text += f"… ({length - OUTPUT_LIMIT} more characters)"
            taken.append((trait, text))
        self.texts, self.lengths = {}, {}
        return taken


class _Publisher:
    """Writes votes to the pool as they come; anytime traits that answer too often are thinned out, never their last word."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self.number = 0
        self._sent: dict[int, int] = {}
        self._began = 0.0

    def begin(self, number: int) -> None:
        self.number, self._sent, self._began = number, {}, time.monotonic()

    def publish(self, vote: Vote) -> None:
        if not vote.final:
            sent = self._sent.get(vote.trait, 0)
            if sent > BURST + (time.monotonic() - self._began) * 1000:
                return
            self._sent[vote.trait] = sent + 1
        if vote.status != "ok":
            kind = ERROR if vote.status == "error" else VOID
        elif vote.votes is None:
            kind = NO_OPINION if vote.final else PARTIAL_NO_OPINION
        else:
            kind = VOTE if vote.final else PARTIAL
        self.send(_encode(self.number, kind, vote.trait, vote.ms, vote.votes, vote.note))

    def send(self, message: bytes) -> None:
        while message:
            message = message[os.write(self.pipe, message) :]


def _read_exactly(pipe: int, count: int) -> bytes:
    data = os.read(pipe, count)
    while len(data) < count:
        more = os.read(pipe, count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _die_with_parent(lifeline: int) -> None:
    """End this process and all its children when the parent does: the read end of its lifeline sees the end of file."""

    def watch() -> None:
        with contextlib.suppress(OSError):
            os.read(lifeline, 1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()


def main(plans: Sequence[TraitPlan], folders: Sequence[str], requests: Any, answers: Any, lifeline: Any, stop: Any) -> None:
    """The life of a worker. `requests`, `answers` and `lifeline` are ends of pipes, `stop` a shared word (int64).

    It ends when the pipe of requests is closed. Its process group is its own, so that whatever it starts can be ended with it.
    """
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with_parent(lifeline.fileno())
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    captured = _Captured()
    sys.stdout = sys.stderr = captured
    publisher = _Publisher(answers.fileno())
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]
    try:
        built = [plan.build() for plan in plans]
    except BaseException as problem:
        publisher.send(_encode(0, FAILED, text=f"{type(problem).__name__}: {problem}"))
        return
    publisher.send(_encode(0, READY))
    with contextlib.suppress(EOFError, BrokenPipeError):
        _serve(built, requests.fileno(), publisher, captured, np.frombuffer(stop, np.int64))


def _serve(built: Sequence[Behaviour], pipe: int, publisher: _Publisher, captured: _Captured, stop: Any) -> None:
    games, history = np.zeros(1, GAME), np.zeros(HISTORY, GAME)

    def around(trait: int) -> None:
        captured.trait = trait

    while True:
        (length,) = struct.unpack("<I", _read_exactly(pipe, 4))
        body = _read_exactly(pipe, length)
        number, _, seconds, grace, nodes, seed, me, remembered, count = _REQUEST.unpack_from(body)
        start = _REQUEST.size + count
        numbers = body[_REQUEST.size : start]
        # Into writable arrays of our own: a read-only view of the bytes would be another type to the kernels.
        games[:] = np.frombuffer(body, GAME, 1, start)
        history[:remembered] = np.frombuffer(body, GAME, remembered, start + GAME.itemsize)
        signal.setitimer(signal.ITIMER_REAL, seconds + grace + LAST_RESORT)
        budget = Budget(None if nodes < 0 else nodes, stop)
        publisher.begin(number)
        view = View(games, me, history=history[:remembered], budget=budget, seed=seed)
        run([(trait, built[trait]) for trait in numbers], view, publisher.publish, around)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for trait, text in captured.take():
            publisher.send(_encode(number, OUTPUT, trait, text=text))
