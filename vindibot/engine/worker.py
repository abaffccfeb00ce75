"""A worker process: it builds the bot's traits once, then answers one request per turn with a stream of votes.

It is told everything it needs with each request and remembers nothing but compiled kernels and tables of the map, so a
replacement knows as much as the worker it replaces. The game lies in shared memory, a short request through a pipe says
that it is there. Votes go out through shared memory, a slot per trait, the moment they are given: they cost no system call,
an anytime trait may improve its answer as often as it likes, and what was said before a hang is not lost. The end of a
request, and whatever has a text (an exception, printed lines), goes through a second pipe.
"""

from __future__ import annotations

import contextlib
import gc
import io
import mmap
import os
import pickle
import select
import signal
import struct
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from behaviours.base import LONGEST_PV, RECENT_TURNS, Behaviour, Budget, SearchInfo, View
from behaviours.classic.mine import MineFinder
from behaviours.registry import find
from sim import kernels
from sim.game import GAME, Games
from vindibot.base import adopt_orphans, name_process
from vindibot.config import make_importable
from vindibot.engine.forkserver import WORKER
from vindibot.engine.runner import Vote, run
from vindibot.games import Status

#: Characters that a trait may print per turn; what goes beyond is counted and dropped.
OUTPUT_LIMIT = 4096
#: Bytes of the text of a message.
LONGEST_TEXT = 1 << 15
#: Seconds after its deadline and grace at which a worker ends itself, if nobody did it (its parent is gone, then).
LAST_RESORT = 0.5

_REQUEST = struct.Struct("<IddqQ?BBB")
_MESSAGE = struct.Struct("<IBBI")
#: Kinds of messages: the traits are built; they cannot be; the request is answered; a trait failed; a trait printed.
READY, FAILED, DONE, ERROR, VOID, OUTPUT = range(6)
#: What the word that tells the running trait says before the first.
NOBODY = -1
#: What a worker says of itself when it is ready and was forked from a server that had loaded everything.
PRELOADED = "preloaded"


@dataclass(frozen=True)
class TraitPlan:
    """How to build a trait in another process: ``module:Class`` and its parameters."""

    class_path: str
    parameters: dict[str, Any]

    @property
    def module(self) -> str:
        """The module of the class."""
        return self.class_path.partition(":")[0]

    def build(self) -> Behaviour:
        """Import the class and make the behaviour."""
        built: Behaviour = find(self.class_path)(**self.parameters)
        return built


class Board:
    """The shared memory of a worker: a stop word, the trait that is running, the turn, and the latest vote of each trait.

    The turn (the game, followed by those of our last turns) is written by the pool while the worker is idle. A slot is
    written by the worker alone. It has a head, one word (request number, count of writes, state), and two bodies that are
    used in turn: the head, written last and at once, says which one counts, and the reader looks at it before and after. So a
    half-written vote is never taken for one, and who dies while he writes has still said what he said before.
    """

    WORDS = 2
    TURN = (1 + RECENT_TURNS) * GAME.itemsize
    #: Milliseconds, votes; of the thought: score, nodes, depth, goal, which of them are there, the line and its length.
    _BODY = struct.Struct(f"<d5ddqihBB{LONGEST_PV}s")
    _STATUS: tuple[Status, ...] = ("ok", "error", "void")
    _NO_INFO = (0.0, 0, 0, 0, 0, 0, b"")
    SLOT = 8 + 2 * _BODY.size

    def __init__(self, memory: Any) -> None:
        self._bytes = memoryview(memory).cast("B")
        words = np.frombuffer(memory, np.int64, self.WORDS)
        self.stop, self.running = words[:1], words[1:]
        self.games = np.frombuffer(memory, GAME, 1 + RECENT_TURNS, 8 * self.WORDS)
        self._slots = 8 * self.WORDS + self.TURN
        self._heads = self._bytes.cast("Q")  # a word is written at once
        self._writes = 0

    @classmethod
    def size(cls, traits: int) -> int:
        """Bytes needed for so many traits."""
        return cls.WORDS * 8 + cls.TURN + traits * cls.SLOT

    def put_turn(self, turn: bytes) -> None:
        """Write a turn (see `encode_turn`) to where the worker reads it."""
        start = 8 * self.WORDS
        self._bytes[start : start + len(turn)] = turn

    def put(self, number: int, vote: Vote) -> None:
        """Publish a vote for request `number`."""
        at = self._slots + vote.trait * self.SLOT
        self._writes = (self._writes + 1) & 0xFFFF
        info = self._NO_INFO if vote.info is None else _flat(vote.info)
        body = at + 8 + (self._writes & 1) * self._BODY.size
        self._BODY.pack_into(self._bytes, body, vote.ms, *(vote.votes or (0.0,) * 5), *info)
        flags = (vote.votes is not None) | (vote.info is not None) << 1 | self._STATUS.index(vote.status) << 2
        self._heads[at // 8] = number << 32 | self._writes << 16 | (2 if vote.final else 1) << 8 | flags

    def get(self, number: int, trait: int) -> Vote | None:
        """The latest vote of a trait for request `number`; None if there is none (or one is just being written)."""
        at = self._slots + trait * self.SLOT
        for _ in range(3):
            head = self._heads[at // 8]
            state, flags = head >> 8 & 0xFF, head & 0xFF
            if head >> 32 != number or state == 0 or flags >> 2 >= len(self._STATUS):
                return None
            body = self._BODY.unpack_from(self._bytes, at + 8 + (head >> 16 & 1) * self._BODY.size)
            if self._heads[at // 8] == head:
                votes = body[1:6] if flags & 1 else None
                info = _info(votes, *body[6:]) if flags & 2 else None
                return Vote(trait, votes, body[0], state == 2, self._STATUS[flags >> 2], info=info)
        return None


def _flat(info: SearchInfo) -> tuple[Any, ...]:
    """A thought (of `plain_info`) without its votes, as it lies in a slot."""
    there, line = 0, bytes(info.pv)
    values = (info.score, info.nodes, info.depth, info.goal)
    for number, value in enumerate(values):
        there |= (value is not None) << number
    return (*(0 if value is None else value for value in values), there, len(line), line)


def _info(
    votes: tuple[float, ...] | None, score: float, nodes: int, depth: int, goal: int, there: int, length: int, line: bytes
) -> SearchInfo:
    """The inverse of `_flat`."""
    return SearchInfo(
        votes,
        depth=depth if there & 4 else None,
        score=score if there & 1 else None,
        nodes=nodes if there & 2 else None,
        pv=tuple(line[:length]),
        goal=goal if there & 8 else None,
    )


def encode_turn(games: Games, recent: Games) -> tuple[int, bytes]:
    """What all workers get: how many of our last turns are in it, and the game followed by them as bytes."""
    kept = recent[-RECENT_TURNS:]
    return len(kept), games.tobytes() + kept.tobytes()


class TurnRequest(NamedTuple):
    """What a worker is to do now: request `number`, for hero `me` (0..3), with the last `remembered` turns of ours.

    `seconds` is how long the turn lasts and `grace` how long after that the worker may still live, for its last resort only.
    `traits` are run in their order. On `trial` the worker must still be sound after them, or it ends.
    """

    number: int
    me: int
    remembered: int
    seconds: float
    grace: float
    nodes: int | None
    seed: int
    traits: Sequence[int]
    trial: bool = False

    def encode(self) -> bytes:
        """As bytes: so few that a pipe takes and gives them whole."""
        nodes, seed = -1 if self.nodes is None else self.nodes, self.seed & 0xFFFFFFFFFFFFFFFF
        kept, count = self.remembered, len(self.traits)
        return _REQUEST.pack(self.number, self.seconds, self.grace, nodes, seed, self.trial, self.me, kept, count) + bytes(
            self.traits
        )

    @classmethod
    def decode(cls, data: bytes) -> TurnRequest:
        """The inverse of `encode`."""
        number, seconds, grace, nodes, seed, trial, me, remembered, count = _REQUEST.unpack_from(data)
        traits = data[_REQUEST.size : _REQUEST.size + count]
        return cls(number, me, remembered, seconds, grace, None if nodes < 0 else nodes, seed, traits, trial)


def decode_messages(buffer: bytearray, traits: int) -> list[tuple[int, int, int, str]]:
    """Take the whole messages off the front of `buffer`: (kind, request number, trait, text).

    Raises `ValueError` for what no worker with so many traits sends: something else has written to its pipe.
    """
    found, start, size = [], 0, _MESSAGE.size
    while len(buffer) - start >= size:
        number, kind, trait, length = _MESSAGE.unpack_from(buffer, start)
        if kind > OUTPUT or trait >= traits or length > LONGEST_TEXT:
            raise ValueError(f"bytes that are no message: {bytes(buffer[start : start + 20])!r}")
        if len(buffer) - start < size + length:
            break
        found.append((kind, number, trait, buffer[start + size : start + size + length].decode(errors="replace")))
        start += size + length
    del buffer[:start]
    return found


def _encode(number: int, kind: int, trait: int = 0, text: str = "") -> bytes:
    body = text.encode(errors="replace")[:LONGEST_TEXT]
    return _MESSAGE.pack(number, kind, trait, len(body)) + body


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


def _write(pipe: int, message: bytes) -> None:
    while message:
        message = message[os.write(pipe, message) :]


def _end_with(leash: int) -> None:
    """End this process and its group when the other end of its leash is closed, or its parent's parent is gone."""

    def watch() -> None:
        with contextlib.suppress(OSError):
            os.read(leash, 1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, name="leash", daemon=True).start()


def setup(plans: Sequence[TraitPlan], folders: Sequence[str]) -> bytes:
    """What a worker must know once: how to build the traits, and the folders they lie in."""
    return pickle.dumps((list(plans), list(folders)))


def main(requests: int, answers: int, leash: int, memory: int, board_size: int, setup_size: int) -> None:
    """The life of a worker. The first three are ends of pipes; `memory` is a file: a `Board`, then what `setup` made.

    It ends when the pipe of requests is closed, and at once when the other end of the leash is closed. Its process group is
    its own, and it adopts its orphans, so that whatever it starts can be ended with it.
    """
    os.setpgid(0, 0)
    name_process(WORKER)
    adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that plays
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _end_with(leash)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    captured = _Captured()
    sys.stdout = sys.stderr = captured
    try:
        shared = mmap.mmap(memory, board_size + setup_size)
        os.close(memory)
        plans, folders = pickle.loads(shared[board_size:])
        make_importable(folders)
        built = [plan.build() for plan in plans]
        kernels.warm()
    except BaseException as problem:
        _write(answers, _encode(0, FAILED, text=f"{type(problem).__name__}: {problem}"))
        return
    _write(answers, _encode(0, READY, text=PRELOADED if "vindibot.engine.preload" in sys.modules else ""))
    with contextlib.suppress(BrokenPipeError):
        _serve(built, requests, answers, captured, Board(memoryview(shared)[:board_size]))


def _serve(built: Sequence[Behaviour], requests: int, answers: int, captured: _Captured, board: Board) -> None:
    games, recent = board.games[:1], board.games[1:]
    number = 0

    def around(trait: int) -> None:
        captured.trait = trait
        board.running[0] = trait

    def publish(vote: Vote) -> None:
        if vote.status != "ok":
            _write(answers, _encode(number, ERROR if vote.status == "error" else VOID, vote.trait, vote.note))
        board.put(number, vote)

    while data := os.read(requests, select.PIPE_BUF):
        request = TurnRequest.decode(data)
        number = request.number
        signal.setitimer(signal.ITIMER_REAL, request.seconds + request.grace + LAST_RESORT)
        budget = Budget(request.nodes, board.stop)
        view = View(games, request.me, recent=recent[: request.remembered], budget=budget, seed=request.seed)
        run([(trait, built[trait]) for trait in request.traits], view, publish, around)
        if request.trial:
            gc.collect()
            MineFinder().vote(view)  # it fails only where something is broken, and this worker must not answer then
        signal.setitimer(signal.ITIMER_REAL, 0)
        for trait, text in captured.take():
            _write(answers, _encode(number, OUTPUT, trait, text))
        _write(answers, _encode(number, DONE))
