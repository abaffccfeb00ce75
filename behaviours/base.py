"""The classes that the author of a trait uses: Behaviour, SplitBehaviour, View, Votes, SearchInfo, Budget.

Each turn, the bot calls `Behaviour.vote` of each of its traits with a `View`: the game from our hero's side. The answer is
**votes**: a direction, a weight per direction, or None for no opinion. By convention weights are between -1 and 1. The bot
multiplies them by the trait's weight in the bot file and sums them over all traits. The bot makes the move with the largest sum.

An **anytime** trait is a generator: each ``yield`` gives a better answer than the previous ``yield``, and the last answer before
the deadline counts. A search may answer with a `SearchInfo`: votes with depth, score and expected moves.

A trait in ten lines::

    class Coward(Behaviour):
        \"\"\"Step away from enemies beside us.\"\"\"

        fear: float = Field(1.0, ge=0, le=10, description="vote against a square, per enemy beside it")

        def vote(self, view: View) -> Votes:
            return {move: -self.fear * len(view.enemies_beside(view.landing(move))) for move in view.moves}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, WithJsonSchema

from behaviours.notes import Notes
from sim.board import draw
from sim.game import (
    ABSENT,
    DIRECTIONS,
    GAME,
    MAX_SIZE,
    OFFSET,
    PLIES_PER_ROUND,
    STAY,
    Game,
    Games,
    copy_of,
    row_column,
)
from sim.maps import Map, map_of
from sim.pictures.svg import draw_svg
from sim.rules import effective_moves, step

#: A direction (0..4), weights by direction, five weights in the order of the directions, or None for no opinion.
Votes: TypeAlias = "int | Mapping[int, float] | Sequence[float] | NDArray[np.floating[Any]] | None"
#: The return type of `Behaviour.vote`: votes, a `SearchInfo`, or (anytime traits) a generator of better and better answers.
Answer: TypeAlias = "Votes | SearchInfo | Iterator[Votes] | Iterator[SearchInfo] | Iterator[Votes | SearchInfo]"

#: The mark of `DataFile` in an annotation.
DATA_FILE = WithJsonSchema({"type": "string", "format": "file-path"})
#: The type of a parameter that names a file. A bot file names it relative to its own folder, and the trait gets the absolute
#: path. The contents of the file belong to the bot: with other contents it is another bot.
DataFile: TypeAlias = Annotated[str, DATA_FILE]

#: Largest length of `View.recent`, in turns of ours.
RECENT_TURNS = 24
#: Largest length of `SearchInfo.pv`, in plies; the rest is cut off.
LONGEST_PV = 24
#: Largest number of numbers in the statistics of a `SplitBehaviour`, and the largest number of dimensions of this array.
MOST_STATISTICS, MOST_DIMENSIONS = 1 << 17, 4

_T = TypeVar("_T")


class VoteError(ValueError):
    """An answer that is not votes: a wrong type or shape, an unknown direction, NaN or infinity."""


@dataclass(frozen=True)
class SearchInfo:
    """Votes, with the result of the search that computed them. All fields but `votes` are optional. Reports show these fields.

    - `depth`: plies searched, 0 or more.
    - `score`: expected advantage at the end of the game, in gold.
    - `nodes`: positions visited, 0 or more.
    - `pv`: the principal variation, as directions (0..4): our move and then the expected moves of all heroes in turn. Only the
      first `LONGEST_PV` plies are used.
    - `goal`: the square to which the trait wants to go (`sim.game.square`).

    A wrong value raises `VoteError` when the bot reads the answer.
    """

    votes: Votes
    depth: int | None = None
    score: float | None = None
    nodes: int | None = None
    pv: Sequence[int] = ()
    goal: int | None = None


@dataclass
class Budget:
    """The limit of a trait's work on one turn: a number of nodes, a stop word, or both.

    - `nodes`: the largest number of positions to visit, or None for no such limit. With a limit in nodes, the moves do not depend
      on the speed of the machine.
    - `stop`: the stop word, an int64 array of length 1. The bot sets ``stop[0]`` to 1 at the deadline. A long kernel takes this
      array as an argument and reads ``stop[0]`` every few hundred nodes. Python code calls `expired`.

    A trait without loops may ignore its budget. Any other trait must return or yield its best answer so far as soon as
    `expired()` is true.
    """

    nodes: int | None = None
    stop: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))

    def expired(self) -> bool:
        """Return whether the deadline has passed (the stop word is set)."""
        return bool(self.stop[0])


class View:
    """The game from our hero's side on one turn. All traits of a process share this object: do not change it or its arrays.

    - `games`: the game, an array of one record (`sim.game.Game`). `game` is this record, `hero` is our hero's record, and `cells`
      is the board.
    - `me`: the index of our hero, 0..3. `pos`, `life`, `gold` and `mines` describe this hero.
    - `turn`: the number of plies that all heroes together have played. `moves_left`: the number of moves that our hero still
      makes. `rounds_left`: the number of rounds until the end of the game. `lead`: our gold minus that of the best enemy.
    - `recent`: one game state for each of our last turns, an array of up to `RECENT_TURNS` games, oldest first. This turn is not
      included.
    - `budget`: the limit of the work on this turn.
    - `seed`: the seed of the game; draw random numbers from `rng` only.
    - `map`: walls, taverns, mines, spawns and distances. If the caller does not give the map, the view computes it at the first
      use.
    - `notes`: the notes of the trait that runs now; `note` and `mark` add to them.

    ``print(view)`` draws the board, and a notebook shows a picture of it. In tests, ``vindibot.testing.view`` makes a view of a
    drawn board.
    """

    def __init__(
        self,
        games: Game,
        me: int,
        *,
        recent: Games | None = None,
        budget: Budget | None = None,
        seed: int = 0,
        map: Map | None = None,  # noqa: A002 - the name of the property
    ) -> None:
        self.games = games
        self.me = me
        self.recent = recent if recent is not None else np.zeros(0, GAME)
        self.budget = budget if budget is not None else Budget()
        self.seed = seed
        self.notes = Notes()
        self._cache: dict[Any, Any] = {}
        if map is not None:
            self.__dict__["map"] = map

    def __repr__(self) -> str:
        """Return one line: the turn, our hero and its square."""
        row, column = row_column(self.pos)
        hero = f"@{self.me + 1} at {row},{column}: life {self.life}, gold {self.gold}, mines {self.mines}"
        return f"<View turn {self.turn} of {self.game['max_turns']}, {hero}>"

    def __str__(self) -> str:
        """Return a line with our hero and its moves, then the drawing of `sim.board.draw`, which `sim.board.parse` can read."""
        moves = ", ".join(DIRECTIONS[move] for move in self.moves)
        return f"@{self.me + 1} is to move: {moves}\n{draw(self.games).rstrip()}"

    def _repr_svg_(self) -> str:
        """Return what a notebook shows: a picture of the board."""
        return draw_svg(self.games, me=self.me)

    @cached_property
    def map(self) -> Map:
        """Everything that never changes during the game: walls, taverns, mines, spawns, all distances."""
        return map_of(self.games)

    @property
    def game(self) -> Any:
        """The game as a record: ``view.game.turn``, ``view.game.hero[2].life``."""
        return self.games[0]

    @property
    def hero(self) -> Any:
        """Our hero's record: gold, pos, life, mines, spawn, last_dir, crashed."""
        return self.games[0].hero[self.me]

    @cached_property
    def turn(self) -> int:
        """The number of plies that all heroes together have played so far, from 0: `turn` in the protocol."""
        return int(self.games["turn"].item(0))

    @cached_property
    def moves_left(self) -> int:
        """The number of moves that our hero still makes, this one included. It is 0 if our hero makes no more move."""
        next_turn = self.turn + (self.me - self.turn) % PLIES_PER_ROUND
        return max(0, -(-(int(self.games["max_turns"].item(0)) - next_turn) // PLIES_PER_ROUND))

    @cached_property
    def rounds_left(self) -> int:
        """The number of rounds until the end of the game, this one included. In a round, each hero makes one move."""
        last = int(self.games["max_turns"].item(0))
        return -(-last // PLIES_PER_ROUND) - self.turn // PLIES_PER_ROUND if self.turn < last else 0

    @cached_property
    def pos(self) -> int:
        """Our hero's square."""
        return int(self.games["hero"]["pos"].item(self.me))

    @cached_property
    def life(self) -> int:
        """Our hero's life, 1..100."""
        return int(self.games["hero"]["life"].item(self.me))

    @cached_property
    def gold(self) -> int:
        """Our hero's gold."""
        return int(self.games["hero"]["gold"].item(self.me))

    @cached_property
    def mines(self) -> int:
        """The number of mines that our hero owns."""
        return int(self.games["hero"]["mines"].item(self.me))

    @cached_property
    def lead(self) -> int:
        """Our hero's gold minus the largest gold of an enemy. It is negative if an enemy has more."""
        gold = self.games["hero"]["gold"][0].tolist()
        return int(gold[self.me]) - max((int(gold[enemy]) for enemy in self.enemies), default=0)

    @cached_property
    def cells(self) -> NDArray[np.uint8]:
        """The cells of the padded board by square: uint8[1024], tile in the low four bits, hero above (see `sim.game`)."""
        cells: NDArray[np.uint8] = self.games["cell"][0]
        return cells

    @cached_property
    def enemies(self) -> tuple[int, ...]:
        """The other heroes on the board, each 0..3."""
        places = self.games["hero"]["pos"][0].tolist()
        return tuple(other for other in range(4) if other != self.me and places[other] != ABSENT[other])

    @cached_property
    def moves(self) -> tuple[int, ...]:
        """The directions whose effect differs from the effect of Stay, and Stay itself. Stay comes first.

        Moves against a wall, a hero or an own mine are left out. Without the gold for a beer, moves against a tavern are left
        out, too.
        """
        mask = effective_moves(self.games, 0, self.me)
        return tuple(direction for direction in range(5) if mask >> direction & 1)

    def after(self, direction: int) -> Game:
        """Return the game after our move, before the next hero moves. All traits share this game: do not change it."""

        def compute() -> Game:
            games = copy_of(self.games)
            step(games, 0, direction)
            return games

        return self.shared(("after", direction), compute)

    def landing(self, direction: int) -> int:
        """Return our hero's square after this move. If the move kills our hero, this is its spawn square."""
        return int(self.after(direction)["hero"]["pos"].item(self.me))

    def enemies_beside(self, square: int) -> list[int]:
        """Return the enemies (0..3) north, south, east or west of a square."""
        near = {square + int(offset) for offset in OFFSET[1:]}
        places = self.games["hero"]["pos"][0].tolist()
        return [enemy for enemy in self.enemies if places[enemy] in near]

    def near(self, steps: int) -> list[int]:
        """Return the enemies (0..3) that are at most this number of steps from our hero, the nearest first.

        The steps are those of a shortest way on the map, as if no other hero were in the way.
        """
        places = self.games["hero"]["pos"][0].tolist()
        away = {enemy: int(self.map.distances[self.pos, places[enemy]]) for enemy in self.enemies}
        return sorted((enemy for enemy in away if away[enemy] <= steps), key=away.__getitem__)

    def rng(self, salt: str = "") -> np.random.Generator:
        """Return a random generator that depends only on the game's seed, the turn, our hero and `salt`."""
        return np.random.default_rng([self.seed & 0xFFFFFFFFFFFFFFFF, self.turn, self.me, *salt.encode()])

    def note(self, text: Any) -> None:
        """Say `text` (an object is converted to text). Recordings keep it, and the viewer and `vindibot explain` show it.

        A note has no effect on the game. Only the first `behaviours.notes.MOST_NOTES` notes of a trait and turn are kept, and
        `behaviours.notes.LONGEST_NOTE` characters of each.
        """
        self.notes.add(text)

    def mark(self, square: int, text: Any = "") -> None:
        """Mark a square (`sim.game.square`), and say `text` about it. A mark is a note about a square; see `note`.

        Raises `VoteError` for a square that is not on the board.
        """
        place, size = _count("square", square, "mark"), int(self.games["size"].item(0))
        if place is None or not all(0 <= coordinate < size for coordinate in row_column(place)):
            raise VoteError(f"a mark is about a square of the board (`sim.game.square`), not {square!r:.60}")
        self.notes.add(text, place)

    def shared(self, key: Any, compute: Callable[[], _T]) -> _T:
        """Return ``compute()``, computed once per turn and `key`. Use this method for results that several traits need."""
        if key not in self._cache:
            self._cache[key] = compute()
        value: _T = self._cache[key]
        return value


class Behaviour(BaseModel):
    """The base class of traits. A subclass implements `vote`; its fields are its parameters.

    Fields are pydantic fields. A user sets them in the bot file, and their values are checked when the file is loaded. The
    descriptions of the fields are the trait's help. A trait keeps no state between turns, because the bot may replace the trait's
    process at any time: use `View.recent` for the past, and draw random numbers from `View.rng` only. Instances are frozen;
    unknown parameters are errors.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    def vote(self, view: View) -> Answer:
        """Return this trait's votes for this turn: a direction, weights per direction, or None for no opinion.

        A weight is a finite number, by convention between -1 and 1. A positive weight is a vote for the move, a negative weight
        is a vote against it. A direction that is missing from the weights has weight 0. If the answer is a single direction, this
        direction has weight 1. An anytime trait yields its answers, each better than the previous answer. Any answer may be a
        `SearchInfo`.
        """
        raise NotImplementedError


class SplitBehaviour(Behaviour):
    """The base class of anytime traits whose work can be split among workers. A subclass implements `statistics` and `combine`.

    Each worker runs `statistics` with its own part number. The bot combines the latest statistics of all parts into the answer.
    Part 0 always exists. An idle worker takes a further part. So the number of parts may differ from turn to turn, and any part
    except part 0 may begin late, end early or be missing. With a budget of nodes there is only part 0, so the answer does not
    depend on the number of workers.
    """

    def statistics(self, view: View, part: int) -> Iterator[NDArray[np.float64]]:
        """Yield the statistics of part `part` (0, 1, 2, ...). Each array covers all work of this part so far.

        The statistics are an array of at most `MOST_STATISTICS` float64 numbers, in at most `MOST_DIMENSIONS` dimensions. Later
        arrays of a part, and arrays of other parts, may have other shapes. Different parts must do different work, so draw
        different random numbers in each part. When `view.budget` has expired, yield once more if there are new results, and then
        return.
        """
        raise NotImplementedError

    def combine(self, view: View, parts: Sequence[NDArray[np.float64]]) -> Votes | SearchInfo:
        """Return votes, or a `SearchInfo`, from the latest statistics of one or more parts. Part 0 comes first.

        This method runs each time that part 0 yields, so it must be fast. Usually it only adds up the statistics. It must not
        change the arrays.
        """
        raise NotImplementedError

    def vote(self, view: View) -> Iterator[Votes | SearchInfo]:
        """Run only part 0. Each time that it yields statistics, yield the votes that `combine` makes from them."""
        for own in self.statistics(view, 0):
            yield self.combine(view, [plain_statistics(own)])


def plain_statistics(statistics: Any) -> NDArray[np.float64]:
    """Return the statistics of a `SplitBehaviour` as a C-contiguous array. Raises `VoteError` if type or size is wrong."""
    if not isinstance(statistics, np.ndarray) or statistics.dtype != np.float64:
        kind = statistics.dtype if isinstance(statistics, np.ndarray) else type(statistics).__name__
        raise VoteError(f"statistics are a numpy array of float64, not {kind}")
    if statistics.size > MOST_STATISTICS or statistics.ndim > MOST_DIMENSIONS:
        raise VoteError(
            f"statistics are at most {MOST_STATISTICS} numbers in at most {MOST_DIMENSIONS} dimensions, not of shape"
            f" {statistics.shape}"
        )
    return np.ascontiguousarray(statistics) if statistics.ndim else statistics


def plain_votes(answer: Any) -> tuple[float, ...] | None:
    """Return an answer as five floats in the order of the directions, or None for no opinion.

    For a `SearchInfo`, return its votes. Raises `VoteError` for an answer of any other kind.
    """
    if answer is None:
        return None
    if isinstance(answer, SearchInfo):
        return plain_votes(answer.votes)
    votes = [0.0] * len(DIRECTIONS)
    if type(answer) is dict or isinstance(answer, Mapping):
        for direction, weight in answer.items():
            votes[_direction(direction)] = _weight(weight)
    elif isinstance(answer, bool | str | bytes):
        raise VoteError(f"a vote is a direction, weights or None, not {answer!r:.60}")
    elif isinstance(answer, int | np.integer):
        votes[_direction(answer)] = 1.0
    elif isinstance(answer, Sequence | np.ndarray):
        if len(np.shape(answer)) != 1 or len(answer) != len(DIRECTIONS):
            raise VoteError(f"weights must be five numbers, one per direction, not of shape {np.shape(answer)}")
        votes = [_weight(weight) for weight in answer]
    else:
        raise VoteError(f"a vote is a direction, weights or None, not a {type(answer).__name__}")
    return tuple(votes)


def plain_info(answer: Any) -> SearchInfo | None:
    """Return a `SearchInfo` with plain values, or None if the answer is not a `SearchInfo`.

    The votes are the result of `plain_votes`, numbers are int and float, and `pv` is a tuple of at most `LONGEST_PV` directions.
    Raises `VoteError` if any field has a wrong value.
    """
    if not isinstance(answer, SearchInfo):
        return None
    if isinstance(answer.votes, SearchInfo):
        raise VoteError("the votes of a SearchInfo are a SearchInfo themselves")
    pv = answer.pv
    if pv is None or isinstance(pv, str | bytes) or not isinstance(pv, Sequence | np.ndarray):
        raise VoteError(f"the pv of a SearchInfo is a sequence of directions, not {pv!r:.60}")
    score, goal = answer.score, _count("goal", answer.goal)
    if goal is not None and not all(0 <= place < MAX_SIZE for place in row_column(goal)):
        raise VoteError(f"the goal of a SearchInfo is a square of the board (`sim.game.square`), not {goal}")
    return SearchInfo(
        plain_votes(answer.votes),
        _count("depth", answer.depth),
        None if score is None else _weight(score, "a score"),
        _count("nodes", answer.nodes),
        tuple(_direction(direction) for direction in pv[:LONGEST_PV]),
        goal,
    )


def as_votes(answer: Any) -> NDArray[np.float64] | None:
    """Return the result of `plain_votes` as an array of five float64, or None for no opinion."""
    votes = plain_votes(answer)
    return None if votes is None else np.array(votes)


def _direction(value: Any) -> int:
    if type(value) is int and STAY <= value < len(DIRECTIONS):  # the usual case, and faster
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and STAY <= value < len(DIRECTIONS):
        return int(value)
    raise VoteError(f"{value!r:.60} is no direction (0..4: {', '.join(DIRECTIONS)})")


def _count(what: str, value: Any, whole: str = "SearchInfo") -> int | None:
    """Return `value`: None, or a whole number from 0 that fits into 31 bits (`nodes`: 63 bits).

    Raises `VoteError` for any other value. `what` is the name of the field and `whole` that of its owner, for the message.
    """
    if value is None:
        return None
    limit = 2**63 if what == "nodes" else 2**31
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < limit:
        raise VoteError(f"the {what} of a {whole} must be a whole number from 0, not {value!r:.60}")
    return int(value)


def _weight(value: Any, what: str = "a vote") -> float:
    try:
        weight = value if type(value) is float else float(value)
    except (TypeError, ValueError):
        raise VoteError(f"{value!r:.60} is no number") from None
    if not math.isfinite(weight):
        raise VoteError(f"{what} of {weight} is not finite")
    return weight
