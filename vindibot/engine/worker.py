"""The traits in a worker process: the process builds them once, then answers each request with votes.

Each request has all data of the turn. Between requests a worker stores only compiled kernels and tables of the map. So a new
worker can replace it at any time. The worker immediately writes each vote of a trait to the memory that it shares with its pool
(`WorkerMemory`). This needs no system call, and no votes are lost if the trait hangs later. At the end of a request it sends
what the traits have printed.
"""

from __future__ import annotations

import io
import pickle
import runpy
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np

from behaviours.base import RECENT_TURNS, Behaviour, Budget, SplitBehaviour, View
from behaviours.notes import LONGEST_NOTE, MOST_NOTES
from behaviours.registry import find
from sim import kernels
from sim.game import GAME
from vindibot.config.bots import make_importable
from vindibot.engine import forkserver
from vindibot.engine.parts import Parts, PartsLayout, lead, part_of, play_part
from vindibot.engine.runner import Vote, run
from vindibot.engine.trial import Response, ask
from vindibot.engine.worker_process import Requests, WorkerProcess

#: The name of a worker, as ``ps`` shows it.
WORKER = "vindibot-worker"
#: Number of characters of a trait's output that are stored per turn. Further characters are only counted.
OUTPUT_LIMIT = 4096
#: The value of `WorkerMemory.running` before the first trait of a request runs.
NO_TRAIT = -1


@dataclass(frozen=True)
class TraitPlan:
    """The description of a trait that another process builds: its class as ``module:Class``, and its parameters.

    `program` is the file of the user's program if the class is defined there, in the module ``__main__``.
    """

    class_path: str
    parameters: dict[str, Any]
    program: str = ""

    def build(self) -> Behaviour:
        """Import the class and return the behaviour with these parameters."""
        if self.program:  # under another name than `__main__`, so that only its definitions run
            main = ModuleType("__mp_main__")
            sys.modules["__main__"] = sys.modules["__mp_main__"] = main
            vars(main).update(runpy.run_path(self.program, run_name="__mp_main__"))
        return find(self.class_path)(**self.parameters)


class WorkerMemory:
    """The memory that a worker shares with its pool: the stop word, the number of the running trait, and a slot per trait.

    The worker writes the latest vote of a trait to its slot: a head of one word (request number, count of writes, length), and
    two bodies that are written alternately. It writes the body first, then the head in one step. The head says which body is
    valid. The reader compares the head before and after it reads the body, so it never takes a half-written vote. If a worker
    dies while it writes, the previous vote stays valid.
    """

    #: Bytes of a body: the notes, whose characters take at most 4 bytes, and the other fields of a vote.
    _BODY = -(-(MOST_NOTES + 1) * (4 * LONGEST_NOTE + 40) // 8 + 256) * 8
    _SLOT = 1 + 2 * _BODY // 8

    def __init__(self, memory: Any) -> None:
        words = np.frombuffer(memory, np.int64)
        self.stop, self.running = words[:1], words[1:2]
        self._words, self._bytes = words.data, words.view(np.uint8).data
        self._writes = 0

    @classmethod
    def size(cls, traits: int) -> int:
        """Return the size in bytes of the memory for this number of traits."""
        return 8 * (2 + traits * cls._SLOT)

    def put(self, number: int, vote: Vote) -> None:
        """Publish a vote for request `number`."""
        slot = 2 + vote.trait * self._SLOT
        self._writes = (self._writes + 1) & 0xFFFF
        data = pickle.dumps(tuple(vote))
        if len(data) > self._BODY:
            data = pickle.dumps(tuple(vote._replace(notes=(), info=None)))
        start = 8 * (slot + 1) + (self._writes & 1) * self._BODY
        self._bytes[start : start + len(data)] = data
        self._words[slot] = number << 32 | self._writes << 16 | len(data)

    def get(self, number: int, trait: int) -> Vote | None:
        """Return the latest vote of a trait for request `number`; None if there is no vote, or if the worker is writing it."""
        slot = 2 + trait * self._SLOT
        for _ in range(3):
            head = self._words[slot]
            if head >> 32 != number:
                return None
            start = 8 * (slot + 1) + (head >> 16 & 1) * self._BODY
            data = bytes(self._bytes[start : start + (head & 0xFFFF)])
            if self._words[slot] == head:
                return Vote(*pickle.loads(data))
        return None


class TurnRequest(NamedTuple):
    """A request to a worker about hero `me` (0..3).

    - `number`: the number of the request.
    - `games`: the game and the games of our last turns, as bytes (see `encode_turn`).
    - `limit`: the seconds after which the process ends itself if it has not answered, None for no limit.
    - `nodes`: the search budget in nodes, None for no limit.
    - `kind`: "votes" lets `traits` vote, in this order. "parts" lets the worker play parts of the split traits `traits` instead.
      "trial" asks a single trait for its `trial.Response`; for `stop_after` see `trial.ask`.
    """

    number: int
    games: bytes
    me: int
    limit: float | None
    nodes: int | None
    seed: int
    traits: Sequence[int]
    kind: Literal["votes", "parts", "trial"] = "votes"
    stop_after: float | None = None

    def view(self, stop: Any) -> View:
        """Return the view of the turn. `stop` is the stop word."""
        games = np.frombuffer(bytearray(self.games), GAME)  # kernels need memory that can be written
        return View(games[:1], self.me, recent=games[1:], budget=Budget(self.nodes, stop), seed=self.seed)


def encode_turn(view: View) -> bytes:
    """Return the game and the recent games (at most `RECENT_TURNS`) of a view as bytes."""
    return view.games.tobytes() + view.recent[-RECENT_TURNS:].tobytes()


class TraitProcess(WorkerProcess):
    """A worker process that `serve` runs in. `memory` is the memory that it shares with this process.

    Its traits are built from `plans`, and can be imported from `folders`. `number` is its number in a pool, `parts` and `layout`
    are those of the pool's `Parts`. For `captures` see `WorkerSetup`.
    """

    def __init__(
        self,
        plans: Sequence[TraitPlan],
        folders: Sequence[str],
        number: int = 0,
        parts: Any = None,
        layout: PartsLayout = PartsLayout((), 1),  # noqa: B008  # immutable
        *,
        captures: bool = True,
    ) -> None:
        shared = forkserver.CONTEXT.RawArray("B", WorkerMemory.size(len(plans)))
        setup = WorkerSetup(plans, folders, number, shared, parts, layout, captures)
        super().__init__(forkserver.CONTEXT, serve, setup, name=WORKER)
        self.memory = WorkerMemory(shared)

    def ask(self, request: TurnRequest) -> None:
        """Send a request."""
        self.memory.stop[0], self.memory.running[0] = 0, NO_TRAIT
        self.send(pickle.dumps(request))


class WorkerSetup(NamedTuple):
    """What a worker gets once: the plans of its traits, the folders to import them from, and its number in the pool.

    `memory` is that of its `WorkerMemory`, `parts` that of `Parts`, None if no work can be shared. `captures` says whether the
    answers have what the traits print. Otherwise it goes to the output of the process.
    """

    plans: Sequence[TraitPlan]
    folders: Sequence[str]
    number: int
    memory: Any
    parts: Any
    layout: PartsLayout
    captures: bool = True


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


def build(plans: Sequence[TraitPlan], folders: Sequence[str]) -> list[Behaviour] | str:
    """Return the traits of these plans with all kernels loaded, or the reason why they cannot be built."""
    try:
        make_importable(folders)
        built = [plan.build() for plan in plans]
        kernels.warm()
    except MemoryError:
        raise
    except BaseException as problem:  # a user's module may raise anything
        return f"{type(problem).__name__}: {problem}".encode(errors="replace").decode()
    return built


def serve(requests: Requests, setup: WorkerSetup) -> None:
    """Run a worker until its parent ends.

    The first answer is "" if the traits are built, else the reason as text. For each `TurnRequest` the answer is its number and
    what each trait has printed, or the `Response` of a trial.
    """
    captured = _Captured()
    printed = sys.stdout, sys.stderr
    if setup.captures:
        sys.stdout = sys.stderr = captured
    built = build(setup.plans, setup.folders)
    requests.send(pickle.dumps("" if isinstance(built, list) else built))
    if isinstance(built, list):
        try:
            _Worker(built, requests, captured, setup).serve()
        finally:
            sys.stdout, sys.stderr = printed


class _Worker:
    """The loop of a worker: `serve` answers requests."""

    def __init__(self, built: Sequence[Behaviour], requests: Requests, captured: _Captured, setup: WorkerSetup) -> None:
        self._built, self._requests, self._captured, self._index = built, requests, captured, setup.number
        self._memory = WorkerMemory(setup.memory)
        self._parts = None if setup.parts is None else Parts(setup.parts, setup.layout)
        self._number = 0

    def serve(self) -> None:
        """Answer requests until the parent ends."""
        for data in self._requests:
            request: TurnRequest = pickle.loads(data)
            self._number = request.number
            self._requests.limit(request.limit)
            view = request.view(self._memory.stop)
            traits = [(trait, self._built[trait]) for trait in request.traits]
            response: Response | None = None
            match request.kind:
                case "votes":
                    run(traits, view, partial(self._memory.put, self._number), self._before_trait, self._ask)
                case "parts":
                    run(traits, view, self._end_part, self._before_trait, self._help)
                case "trial":
                    response = ask(traits[0][1], view, request.stop_after)
            self._requests.limit(None)
            self._requests.send(pickle.dumps(response or (self._number, self._captured.take())))

    def _before_trait(self, trait: int) -> None:
        self._captured.trait = trait
        self._memory.running[0] = trait

    def _ask(self, trait: int, behaviour: Behaviour, view: View) -> Any:
        """Return the answer of a trait. Lead a split trait (see `parts.lead`), unless there is a budget of nodes."""
        if isinstance(behaviour, SplitBehaviour) and self._parts is not None and view.budget.nodes is None:
            return lead(behaviour, view, partial(self._parts.get, self._number, trait))
        return behaviour.vote(view)

    def _help(self, trait: int, behaviour: Behaviour, view: View) -> Any:
        """Return a generator that plays this worker's part of a split trait."""
        assert isinstance(behaviour, SplitBehaviour)
        assert self._parts is not None
        return play_part(behaviour, view, part_of(self._index), partial(self._parts.put, self._number, self._index, trait))

    def _end_part(self, vote: Vote) -> None:
        """Publish the end of a part, or how it has failed. A helper gives no votes."""
        if vote.status != "ok":
            self._memory.put(self._number, vote)
        if vote.final and self._parts is not None:
            self._parts.finish(self._number, self._index, vote.trait)
