"""A worker process: it builds the bot's traits once, then answers each request with votes.

Each request has all data of the turn. Between requests a worker stores only compiled kernels and tables of the map. So a new
worker can replace it at any time.

For a turn, the pool writes the game to the shared memory (`WorkerMemory`), then sends a short frame. The worker immediately
writes each vote of a trait to the trait's slot of the shared memory. This needs no system call, and no votes are lost if the
trait hangs later. The worker reports the end of a request, exceptions and printed text by frames.
"""

from __future__ import annotations

import gc
import io
import pickle
import signal
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from behaviours.base import LONGEST_PV, RECENT_TURNS, Behaviour, Budget, SearchInfo, SplitBehaviour, View
from behaviours.classic.mine import MineFinder
from behaviours.notes import LONGEST_NOTE, MOST_NOTES
from behaviours.registry import find
from sim import kernels
from sim.game import GAME
from vindibot.config.bots import make_importable
from vindibot.engine.parts import Parts, PartsLayout, lead, part_of, play_part
from vindibot.engine.runner import Vote, run
from vindibot.games.ballot import Status
from vindibot.games.notes import read_notes, write_notes
from vindibot.processes.frames import DONE, FAILED, FIRST_KIND, OUTPUT, READY, ChildFrame
from vindibot.processes.inside import Owner

#: The function of a worker, and the name of its process, as ``ps`` shows it.
RUN, WORKER = "vindibot.engine.worker:serve", "vindibot-worker"
#: Number of characters of a trait's output that are stored per turn. Further characters are only counted.
OUTPUT_LIMIT = 4096
#: Largest length of the payload of a frame that a worker sends, in bytes.
LONGEST_PAYLOAD = 1 << 15
#: A worker that still runs this number of seconds after the grace period ends itself. This happens only if its parent has ended.
SELF_END_AFTER = 0.5

_REQUEST = struct.Struct("<IddqQ??BBB")
_NUMBER = struct.Struct("<I")
#: Further kinds of frames: a request; a trait raised; a vote is invalid. The channel of a frame is the trait.
TURN, ERROR, VOID = range(FIRST_KIND, FIRST_KIND + 3)
#: The value of `WorkerMemory.running` before the first trait of a request runs.
NO_TRAIT = -1
#: The payload of `READY` if the worker had all modules of the traits from its beginning.
PRELOADED = b"preloaded"


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


class WorkerMemory:
    """The shared memory of a worker: the stop word, the number of the running trait, the turn, and a slot per trait.

    The pool writes the turn (the game, the games of our last turns) while the worker is idle. Only the worker writes
    slots.

    A slot has the latest vote of its trait: a head of one word (request number, count of writes, state), and two bodies that are
    written alternately. A body ends with the notes of the trait. The worker writes the body first, then the head in one step. The
    head says which body is valid. The reader compares the head before and after it reads the body, so it never takes a
    half-written vote. If a worker dies while it writes, the previous vote stays valid.
    """

    WORDS = 2
    TURN = (1 + RECENT_TURNS) * GAME.itemsize
    #: A body: milliseconds, votes, and the fields of the `SearchInfo`: score, nodes, depth, goal, bits that say which of these
    #: four are set, length of the pv, pv; then the length of the notes in bytes.
    _BODY = struct.Struct(f"<d5ddqihBB{LONGEST_PV}sH")
    #: Largest length of notes as JSON: a character takes at most 4 bytes; each note has a square, brackets and commas.
    _NOTES = (MOST_NOTES + 1) * (4 * LONGEST_NOTE + 20)
    _STATUS: tuple[Status, ...] = ("ok", "error", "void")
    _NO_INFO = (0.0, 0, 0, 0, 0, 0, b"")
    _BODY_SIZE = _BODY.size + _NOTES
    SLOT = 8 + -(-2 * _BODY_SIZE // 8) * 8  # a whole number of words

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
        """Return the size in bytes of the memory for this number of traits."""
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
        body = at + 8 + (self._writes & 1) * self._BODY_SIZE
        notes = write_notes(vote.notes)[: self._NOTES]
        self._BODY.pack_into(self._bytes, body, vote.ms, *(vote.votes or (0.0,) * 5), *info, len(notes))
        self._bytes[body + self._BODY.size : body + self._BODY.size + len(notes)] = notes
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
            start = at + 8 + (head >> 16 & 1) * self._BODY_SIZE
            *body, length = self._BODY.unpack_from(self._bytes, start)
            notes = bytes(self._bytes[start + self._BODY.size : start + self._BODY.size + min(length, self._NOTES)])
            if self._heads[at // 8] == head:
                votes = tuple(body[1:6]) if flags & 1 else None
                info = _info(votes, *body[6:]) if flags & 2 else None
                status = self._STATUS[flags >> 2]
                return Vote(trait, votes, body[0], state == 2, status, info=info, notes=read_notes(notes))
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


def encode_turn(view: View) -> tuple[int, bytes]:
    """Return the number of recent games in a turn (at most `RECENT_TURNS`), and the game and these games as bytes."""
    latest = view.recent[-RECENT_TURNS:]
    return len(latest), view.games.tobytes() + latest.tobytes()


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
        """Return the request as bytes."""
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


def message_of(frame: ChildFrame, traits: int) -> tuple[int, str]:
    """Return the request number and the text of a frame about a request.

    `traits` is the worker's number of traits. Raises `ValueError` for a frame that such a worker never sends, which means that
    other code has sent it.
    """
    if len(frame.payload) < _NUMBER.size or frame.channel >= traits:
        raise ValueError(f"a frame of kind {frame.kind} on channel {frame.channel} with {len(frame.payload)} bytes")
    return _NUMBER.unpack_from(frame.payload)[0], frame.payload[_NUMBER.size :].decode(errors="replace")


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


def setup(plans: Sequence[TraitPlan], folders: Sequence[str], index: int, layout: PartsLayout) -> bytes:
    """Return what a worker needs once, as bytes.

    These are the plans of its traits, the folders to import them from, the index of the worker, and the layout of `Parts`.
    """
    return pickle.dumps((list(plans), list(folders), index, layout))


def serve(owner: Owner) -> None:
    """Run a worker until its owner ends. Its memory is a `WorkerMemory`; if work can be shared, there is that of `Parts` too."""
    captured = _Captured()
    sys.stdout = sys.stderr = captured
    try:
        plans, folders, index, layout = owner.setup_object()
        parts = Parts(owner.shared[0], layout) if layout.size else None
        preloaded = all(plan.module in sys.modules for plan in plans)
        make_importable(folders)
        built = [plan.build() for plan in plans]
        kernels.warm()
    except BaseException as problem:
        owner.send(FAILED, f"{type(problem).__name__}: {problem}".encode(errors="replace")[:LONGEST_PAYLOAD])
        return
    owner.send(READY, PRELOADED if preloaded else b"")
    _Worker(built, owner, captured, WorkerMemory(owner.memory), index, parts).serve()


@dataclass
class _Worker:
    """The loop of a worker: `serve` answers requests. `index` is the worker's number in its pool.

    `parts` is the memory with the statistics of helpers, None if no work can be shared.
    """

    built: Sequence[Behaviour]
    owner: Owner
    captured: _Captured
    memory: WorkerMemory
    index: int
    parts: Parts | None
    _number: int = 0

    def serve(self) -> None:
        """Answer requests until the owner ends."""
        memory = self.memory
        games, recent = memory.games[:1], memory.games[1:]
        for frame in self.owner.requests():
            request = TurnRequest.decode(frame.payload)
            self._number = request.number
            signal.setitimer(signal.ITIMER_REAL, request.seconds + request.grace + SELF_END_AFTER)
            budget = Budget(request.nodes, memory.stop)
            seen = recent[: request.recent_count]
            view = View(games, request.me, recent=seen, budget=budget, seed=request.seed)
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
                self._send(OUTPUT, trait, text)
            self._send(DONE)

    def _before_trait(self, trait: int) -> None:
        self.captured.trait = trait
        self.memory.running[0] = trait

    def _ask(self, trait: int, behaviour: Behaviour, view: View) -> Any:
        """Return the answer of a trait. Lead a split trait (see `parts.lead`), unless there is a budget of nodes."""
        if isinstance(behaviour, SplitBehaviour) and self.parts is not None and view.budget.nodes is None:
            return lead(behaviour, view, partial(self.parts.get, self._number, trait))
        return behaviour.vote(view)

    def _publish(self, vote: Vote) -> None:
        self._report(vote)
        self.memory.put(self._number, vote)

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
            self._send(ERROR if vote.status == "error" else VOID, vote.trait, vote.note)

    def _send(self, kind: int, trait: int = 0, text: str = "") -> None:
        """Send a frame about the request."""
        payload = _NUMBER.pack(self._number) + text.encode(errors="replace")
        self.owner.send(kind, payload[:LONGEST_PAYLOAD], trait)
