"""A worker process: it builds the bot's traits once, then answers each request with votes.

Each request has all data of the turn. Between requests a worker stores only compiled kernels and tables of the map. So a new
worker can replace it at any time.

For a turn, the pool writes the game to the shared memory (`Board`), then a short request to a pipe. The worker immediately writes
each vote of a trait to the trait's slot of the shared memory. This needs no system call, and no votes are lost if the trait hangs
later. The worker reports the end of a request, exceptions and printed text through a second pipe.
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
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from behaviours.base import LONGEST_PV, RECENT_TURNS, Behaviour, Budget, SearchInfo, SplitBehaviour, View
from behaviours.classic.mine import MineFinder
from behaviours.registry import find
from sim import kernels
from sim.game import GAME, Games
from vindibot.base import adopt_orphans, name_process
from vindibot.config import make_importable
from vindibot.engine.forkserver import WORKER
from vindibot.engine.parts import Parts, PartsLayout, lead, part_of, play_part
from vindibot.engine.runner import Vote, run
from vindibot.games import Status

#: Number of characters of a trait's output that are stored per turn. Further characters are only counted.
OUTPUT_LIMIT = 4096
#: Largest length of the text in a message, in bytes.
LONGEST_TEXT = 1 << 15
#: A worker that still runs this number of seconds after the grace period ends itself. This happens only if its parent has ended.
SELF_END_AFTER = 0.5

_REQUEST = struct.Struct("<IddqQ??BBB")
_MESSAGE = struct.Struct("<IBBI")
#: Kinds of messages: the traits are built; they could not be built; a request is answered; a trait raised; a vote is invalid;
#: a trait printed text.
READY, FAILED, DONE, ERROR, VOID, OUTPUT = range(6)
#: The value of `Board.running` before the first trait of a request runs.
NO_TRAIT = -1
#: The text of the message `READY` if the worker's fork server had already loaded all modules and kernels.
PRELOADED = "preloaded"


@dataclass(frozen=True)
class TraitPlan:
    """The description of a trait that another process builds: its class as ``module:Class``, and its parameters."""

    class_path: str
    parameters: dict[str, Any]

    @property
    def module(self) -> str:
        """The module of the class."""
        return self.class_path.partition(":")[0]

    def build(self) -> Behaviour:
        """Import the class and return the behaviour with these parameters."""
        return find(self.class_path)(**self.parameters)


class Board:
    """The shared memory of a worker: the stop word, the number of the running trait, the turn, and a slot per trait.

    The pool writes the turn (the game, then the games of our last turns) while the worker is idle. Only the worker writes slots.

    A slot has the latest vote of its trait: a head of one word (request number, count of writes, state), and two bodies that are
    written alternately. The worker writes the body first, then the head in one step. The head says which body is valid. The
    reader compares the head before and after it reads the body, so it never takes a half-written vote. If a worker dies while it
    writes, the previous vote stays valid.
    """

    WORDS = 2
    TURN = (1 + RECENT_TURNS) * GAME.itemsize
    #: A body: milliseconds, votes, and the fields of the `SearchInfo`: score, nodes, depth, goal, bits that say which of these
    #: four are set, length of the pv, pv.
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
        self._heads = self._bytes.cast("Q")  # as words, since a word is written in one step
        self._writes = 0

    @classmethod
    def size(cls, traits: int) -> int:
        """Return the size in bytes of a board for this number of traits."""
        return cls.WORDS * 8 + cls.TURN + traits * cls.SLOT

    def put_turn(self, turn: bytes) -> None:
        """Write the bytes of a turn (see `encode_turn`) for the worker."""
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
        """Return the latest vote of a trait for request `number`; None if there is no vote, or if the worker is writing it."""
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
    """Return the fields of a `SearchInfo` without its votes, in the order of a slot's body. `info` comes from `plain_info`."""
    is_set, pv = 0, bytes(info.pv)
    values = (info.score, info.nodes, info.depth, info.goal)
    for number, value in enumerate(values):
        is_set |= (value is not None) << number
    return (*(0 if value is None else value for value in values), is_set, len(pv), pv)


def _info(
    votes: tuple[float, ...] | None, score: float, nodes: int, depth: int, goal: int, is_set: int, length: int, pv: bytes
) -> SearchInfo:
    """Return the `SearchInfo` with these votes and with the other fields, which `_flat` has returned."""
    return SearchInfo(
        votes,
        depth=depth if is_set & 4 else None,
        score=score if is_set & 1 else None,
        nodes=nodes if is_set & 2 else None,
        pv=tuple(pv[:length]),
        goal=goal if is_set & 8 else None,
    )


def encode_turn(games: Games, recent: Games) -> tuple[int, bytes]:
    """Return the number of recent games in a turn, and the turn as bytes that all workers can read.

    First come the bytes of the game, then the bytes of the recent games (at most `RECENT_TURNS`).
    """
    latest = recent[-RECENT_TURNS:]
    return len(latest), games.tobytes() + latest.tobytes()


class TurnRequest(NamedTuple):
    """A request to a worker: let `traits` vote, in this order, for hero `me` (0..3).

    - `number`: the number of the request.
    - `recent_count`: the number of earlier game states that are sent with the turn.
    - `seconds`: the time until the deadline. If a worker has not answered `grace` seconds after the deadline, the pool kills it.
      If the pool has ended, the worker ends itself `SELF_END_AFTER` seconds later.
    - `nodes`: the search budget in nodes, None for no limit.
    - `trial`: whether the worker tests itself after the traits have run. It ends if the test fails.
    - `helps`: whether the worker plays parts of the split traits `traits` instead of voting.
    """

    number: int
    me: int
    recent_count: int
    seconds: float
    grace: float
    nodes: int | None
    seed: int
    traits: Sequence[int]
    trial: bool = False
    helps: bool = False

    def encode(self) -> bytes:
        """Return the request as bytes. They are short enough for one atomic write to a pipe."""
        nodes, seed = -1 if self.nodes is None else self.nodes, self.seed & 0xFFFFFFFFFFFFFFFF
        flags = self.trial, self.helps
        head = (self.number, self.seconds, self.grace, nodes, seed, *flags, self.me, self.recent_count, len(self.traits))
        return _REQUEST.pack(*head) + bytes(self.traits)

    @classmethod
    def decode(cls, data: bytes) -> TurnRequest:
        """Return the request that `encode` has turned into `data`."""
        number, seconds, grace, nodes, seed, trial, helps, me, recent_count, count = _REQUEST.unpack_from(data)
        traits = data[_REQUEST.size : _REQUEST.size + count]
        return cls(number, me, recent_count, seconds, grace, None if nodes < 0 else nodes, seed, traits, trial, helps)


def decode_messages(buffer: bytearray, traits: int) -> list[tuple[int, int, int, str]]:
    """Remove the complete messages from the front of `buffer`, and return each as (kind, request number, trait, text).

    `traits` is the worker's number of traits. Raises `ValueError` for bytes that such a worker never sends, which means that
    other code has written to the pipe.
    """
    found, start, size = [], 0, _MESSAGE.size
    while len(buffer) - start >= size:
        number, kind, trait, length = _MESSAGE.unpack_from(buffer, start)
        if kind > OUTPUT or trait >= traits or length > LONGEST_TEXT:
            raise ValueError(f"bytes are no message: {bytes(buffer[start : start + 20])!r}")
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
    """The output of traits: up to `OUTPUT_LIMIT` characters per trait and turn, and the number of further characters."""

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
        """Return the output of each trait since the last call, as (trait, text)."""
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
    """Kill this process and its process group when the other end of the pipe `leash` is closed.

    The system closes that end when the process that holds it ends.
    """

    def watch() -> None:
        with contextlib.suppress(OSError):
            os.read(leash, 1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, name="leash", daemon=True).start()


def setup(plans: Sequence[TraitPlan], folders: Sequence[str], index: int, layout: PartsLayout) -> bytes:
    """Return what a worker needs once, as bytes.

    These are the plans of its traits, the folders to import them from, the index of the worker, and the layout of `Parts`.
    """
    return pickle.dumps((list(plans), list(folders), index, layout))


def main(requests: int, answers: int, leash: int, memory: int, parts: int, board_size: int, setup_size: int) -> None:
    """Run a worker until the pipe of requests is closed.

    `requests`, `answers` and `leash` are ends of pipes. `memory` is a file with a `Board` (`board_size` bytes) and the result of
    `setup` (`setup_size` bytes). `parts` is the file of `Parts`. The worker is killed when the other end of the leash is closed.
    It has its own process group and adopts orphans, so that every process that it starts can be ended with it.
    """
    os.setpgid(0, 0)
    name_process(WORKER)
    adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that plays handles Ctrl-C
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
        plans, folders, index, layout = pickle.loads(shared[board_size:])
        shared_parts = Parts(mmap.mmap(parts, layout.size), layout) if layout.size else None
        os.close(parts)
        make_importable(folders)
        built = [plan.build() for plan in plans]
        kernels.warm()
    except BaseException as problem:
        _write(answers, _encode(0, FAILED, text=f"{type(problem).__name__}: {problem}"))
        return
    _write(answers, _encode(0, READY, text=PRELOADED if "vindibot.engine.preload" in sys.modules else ""))
    with contextlib.suppress(BrokenPipeError):
        _Worker(built, requests, answers, captured, Board(memoryview(shared)[:board_size]), index, shared_parts).serve()


@dataclass
class _Worker:
    """The loop of a worker: `serve` answers requests. `index` is the worker's number in its pool.

    `parts` is the memory with the statistics of helpers, None if no work can be shared.
    """

    built: Sequence[Behaviour]
    requests: int
    answers: int
    captured: _Captured
    board: Board
    index: int
    parts: Parts | None
    _number: int = 0

    def serve(self) -> None:
        """Answer requests until the pipe of requests is closed."""
        board, answers = self.board, self.answers
        games, recent = board.games[:1], board.games[1:]
        while data := os.read(self.requests, select.PIPE_BUF):
            request = TurnRequest.decode(data)
            self._number = request.number
            signal.setitimer(signal.ITIMER_REAL, request.seconds + request.grace + SELF_END_AFTER)
            budget = Budget(request.nodes, board.stop)
            view = View(games, request.me, recent=recent[: request.recent_count], budget=budget, seed=request.seed)
            traits = [(trait, self.built[trait]) for trait in request.traits]
            if request.helps:
                run(traits, view, self._end_part, self._before_trait, self._help)
            else:
                run(traits, view, self._publish, self._before_trait, self._ask)
            if request.trial:
                gc.collect()
                # This raises only if a trait has damaged the process. Then the worker must end without an answer.
                MineFinder().vote(view)
            signal.setitimer(signal.ITIMER_REAL, 0)
            for trait, text in self.captured.take():
                _write(answers, _encode(request.number, OUTPUT, trait, text))
            _write(answers, _encode(request.number, DONE))

    def _before_trait(self, trait: int) -> None:
        self.captured.trait = trait
        self.board.running[0] = trait

    def _ask(self, trait: int, behaviour: Behaviour, view: View) -> Any:
        """Return the answer of a trait. Lead a split trait (see `parts.lead`), unless there is a budget of nodes."""
        if isinstance(behaviour, SplitBehaviour) and self.parts is not None and view.budget.nodes is None:
            return lead(behaviour, view, partial(self.parts.get, self._number, trait))
        return behaviour.vote(view)

    def _publish(self, vote: Vote) -> None:
        self._report(vote)
        self.board.put(self._number, vote)

    def _help(self, trait: int, behaviour: Behaviour, view: View) -> Any:
        """Return a generator that plays this worker's part of a split trait."""
        assert isinstance(behaviour, SplitBehaviour)
        assert self.parts is not None
        return play_part(behaviour, view, part_of(self.index), partial(self.parts.put, self._number, self.index, trait))

    def _end_part(self, vote: Vote) -> None:
        self._report(vote)
        if vote.final and self.parts is not None:
            self.parts.finish(self._number, self.index, vote.trait)

    def _report(self, vote: Vote) -> None:
        if vote.status != "ok":
            kind = ERROR if vote.status == "error" else VOID
            _write(self.answers, _encode(self._number, kind, vote.trait, vote.note))
