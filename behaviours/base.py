"""What a trait is and what it sees: behaviour, vote, thought, view, budget.

A **behaviour** (trait) looks at a **view** and answers with **votes**: a direction, or a weight for directions, or nothing.
By convention votes lie between -1 and 1; the bot file's weight scales them, and the agent sums. An **anytime** behaviour
is a generator: every ``yield`` is a better answer than the one before, and the latest counts when time is up. A **thought**
is votes with what led to them (how deep a search went, which way it expects the game to go); it may stand wherever votes may.

A trait in ten lines::

    class Coward(Behaviour):
        \"\"\"Step away from whoever is next to us.\"\"\"

        fear: float = Field(1.0, ge=0, le=10, description="vote against each threatened square")

        def vote(self, view: View) -> Votes:
            return {move: -self.fear * len(view.enemies_beside(view.landing(move))) for move in view.moves}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from sim.board import draw
from sim.game import ABSENT, DIRECTIONS, GAME, MAX_SIZE, OFFSET, STAY, Game, Games, copy_of, row_column
from sim.maps import Map, map_of
from sim.rules import effective_moves, step

#: A direction (0..4), weights by direction, five weights in the order of the directions, or no opinion.
Votes: TypeAlias = "int | Mapping[int, float] | Sequence[float] | NDArray[np.floating[Any]] | None"
#: What `Behaviour.vote` may return: votes, alone or in a thought, or (anytime) a generator of ever better ones.
Answer: TypeAlias = "Votes | SearchInfo | Iterator[Votes] | Iterator[SearchInfo] | Iterator[Votes | SearchInfo]"

#: Turns of ours that `View.recent` goes back at most.
RECENT_TURNS = 24
#: Plies of a `SearchInfo.pv` that are kept.
LONGEST_PV = 24

_T = TypeVar("_T")


class VoteError(ValueError):
    """An answer that is no vote: a wrong shape, an unknown direction, NaN or infinity."""


@dataclass(frozen=True)
class SearchInfo:
    """Votes with what led to them, for people who want to know why. Everything but the votes may be left out.

    `depth` are the plies that were searched, `score` is the expected advantage in gold at the end of the game, `nodes` the
    positions looked at. `pv` (the principal variation) are the directions 0..4 that are expected, hero after hero, from
    our own move on; what goes beyond `LONGEST_PV` plies is cut off. `goal` is the square where the trait wants to go.
    """

    votes: Votes
    depth: int | None = None
    score: float | None = None
    nodes: int | None = None
    pv: Sequence[int] = ()
    goal: int | None = None


@dataclass
class Budget:
    """How long a trait may think: a number of nodes, or until the stop word is set; both may be absent.

    `nodes` is the same play on any machine. `stop` is an int64 array of one word that somebody outside sets to 1 when
    time is up; long kernels look at it every few hundred nodes. A trait without loops need not look at all.
    """

    nodes: int | None = None
    stop: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))

    def expired(self) -> bool:
        """Whether the stop word has been set."""
        return bool(self.stop[0])


class View:
    """What a trait may see on one turn of ours. Built once per turn and worker, shared by the traits: never change it.

    `games` is the game (a `Game`), `me` our hero's index 0..3, `recent` the games as they were on our last turns (oldest
    first, this turn not included; it may be empty), `budget` how long to think, `seed` the source of all randomness of this
    game; `map` is the game's map (`sim.maps.map_of`) where it is at hand. ``print(view)`` draws the board.
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
        self._kept: dict[Any, Any] = {}
        if map is not None:
            self.__dict__["map"] = map

    def __repr__(self) -> str:
        """One line: the turn, our hero and where it stands."""
        row, column = row_column(self.pos)
        hero = f"@{self.me + 1} at {row},{column}: life {self.life}, gold {self.gold}, mines {self.mines}"
        return f"<View turn {self.turn} of {self.game['max_turns']}, {hero}>"

    def __str__(self) -> str:
        """The game as `sim.board.draw` draws it (`sim.board.parse` reads it), after a line that names our hero and its moves."""
        moves = ", ".join(DIRECTIONS[move] for move in self.moves)
        return f"@{self.me + 1} is to move: {moves}\n{draw(self.games).rstrip()}"

    @cached_property
    def map(self) -> Map:
        """What never changes during the game: walls, taverns, mines, spawns, all distances."""
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
        """The wire's turn: plies played so far."""
        return int(self.games["turn"].item(0))

    @cached_property
    def plies_left(self) -> int:
        """Plies of ours still to come, this one included."""
        return max(0, -(-(int(self.games["max_turns"].item(0)) - self.turn) // 4))

    @cached_property
    def pos(self) -> int:
        """Our square."""
        return int(self.games["hero"]["pos"].item(self.me))

    @cached_property
    def life(self) -> int:
        """Our life, 1..100."""
        return int(self.games["hero"]["life"].item(self.me))

    @cached_property
    def gold(self) -> int:
        """Our gold."""
        return int(self.games["hero"]["gold"].item(self.me))

    @cached_property
    def mines(self) -> int:
        """How many mines we own."""
        return int(self.games["hero"]["mines"].item(self.me))

    @cached_property
    def cells(self) -> NDArray[np.uint8]:
        """The cells of the padded board (uint8[1024], see `sim.game`): do not change them."""
        cells: NDArray[np.uint8] = self.games["cell"][0]
        return cells

    @cached_property
    def enemies(self) -> tuple[int, ...]:
        """Indices of the other heroes on the board."""
        places = self.games["hero"]["pos"][0].tolist()
        return tuple(other for other in range(4) if other != self.me and places[other] != ABSENT[other])

    @cached_property
    def moves(self) -> tuple[int, ...]:
        """The directions that have an effect of their own, Stay first. A wall, a hero, an own mine, or a tavern without
        the gold for a beer is Stay by another name and not in here."""
        mask = effective_moves(self.games, 0, self.me)
        return tuple(direction for direction in range(5) if mask >> direction & 1)

    def after(self, direction: int) -> Game:
        """The game after our move, before anybody else's. Kept for the turn: do not change it."""

        def compute() -> Game:
            games = copy_of(self.games)
            step(games, 0, direction)
            return games

        return self.shared(("after", direction), compute)

    def landing(self, direction: int) -> int:
        """The square on which our hero would stand after this move (our spawn if it kills us)."""
        return int(self.after(direction)["hero"]["pos"].item(self.me))

    def enemies_beside(self, square: int) -> list[int]:
        """Indices of the enemies north, south, east or west of a square."""
        near = {square + int(offset) for offset in OFFSET[1:]}
        places = self.games["hero"]["pos"][0].tolist()
        return [enemy for enemy in self.enemies if places[enemy] in near]

    def rng(self, salt: str = "") -> np.random.Generator:
        """A generator that depends on the game's seed, the turn and `salt` alone."""
        return np.random.default_rng([self.seed & 0xFFFFFFFFFFFFFFFF, self.turn, self.me, *salt.encode()])

    def shared(self, key: Any, compute: Callable[[], _T]) -> _T:
        """What several traits need: computed at first use under `key`, kept for the turn."""
        if key not in self._kept:
            self._kept[key] = compute()
        kept: _T = self._kept[key]
        return kept


class Behaviour(BaseModel):
    """A trait. Its fields are its parameters: a table of the bot file, its validation and its help are the same thing.

    Subclasses say in `vote` what they want, and nothing else; they keep no state between turns (a worker may be replaced
    at any moment), and draw random numbers only from ``view.rng``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    def vote(self, view: View) -> Answer:
        """The votes of this trait on this turn; see the module."""
        raise NotImplementedError


def plain_votes(answer: Any) -> tuple[float, ...] | None:
    """Bring an answer into one form: five floats in the order of the directions, or None for no opinion.

    Of a thought these are its votes. Raises `VoteError`, which says what was wrong, for anything that is no vote.
    """
    if answer is None:
        return None
    if isinstance(answer, SearchInfo):
        return plain_votes(answer.votes)
    votes = [0.0] * len(DIRECTIONS)
    if type(answer) is dict:
        for direction, weight in answer.items():
            votes[_direction(direction)] = _weight(weight)
        return tuple(votes)
    if isinstance(answer, bool | str | bytes):
        raise VoteError(f"a vote is a direction, weights or None, not {answer!r:.60}")
    if isinstance(answer, int | np.integer):
        votes[_direction(answer)] = 1.0
    elif isinstance(answer, Mapping):
        for direction, weight in answer.items():
            votes[_direction(direction)] = _weight(weight)
    elif isinstance(answer, Sequence | np.ndarray):
        if len(np.shape(answer)) != 1 or len(answer) != len(DIRECTIONS):
            raise VoteError(f"weights must be five numbers, one per direction, not of shape {np.shape(answer)}")
        votes = [_weight(weight) for weight in answer]
    else:
        raise VoteError(f"a vote is a direction, weights or None, not a {type(answer).__name__}")
    return tuple(votes)


def plain_info(answer: Any) -> SearchInfo | None:
    """Bring a thought into one form: votes as of `plain_votes`, plain numbers, the line a tuple of at most `LONGEST_PV`
    directions. None for an answer that is votes alone.

    Raises `VoteError` for a thought with bad votes, or with anything else in it that is not what it should be.
    """
    if not isinstance(answer, SearchInfo):
        return None
    if isinstance(answer.votes, SearchInfo):
        raise VoteError("the votes of a thought are a thought themselves")
    pv = answer.pv
    if pv is None or isinstance(pv, str | bytes) or not isinstance(pv, Sequence | np.ndarray):
        raise VoteError(f"the line of a thought is a sequence of directions, not {pv!r:.60}")
    score, goal = answer.score, _count("goal", answer.goal)
    if goal is not None and not all(0 <= place < MAX_SIZE for place in row_column(goal)):
        raise VoteError(f"the goal of a thought is a square of the board (`sim.game.square`), not {goal}")
    return SearchInfo(
        plain_votes(answer.votes),
        _count("depth", answer.depth),
        None if score is None else _weight(score, "a score"),
        _count("nodes", answer.nodes),
        tuple(_direction(direction) for direction in pv[:LONGEST_PV]),
        goal,
    )


def as_votes(answer: Any) -> NDArray[np.float64] | None:
    """`plain_votes` as an array of five float64."""
    votes = plain_votes(answer)
    return None if votes is None else np.array(votes)


def _direction(value: Any) -> int:
    if type(value) is int and STAY <= value < len(DIRECTIONS):  # nearly always, and much quicker told
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and STAY <= value < len(DIRECTIONS):
        return int(value)
    raise VoteError(f"{value!r:.60} is no direction (0..4: {', '.join(DIRECTIONS)})")


def _count(what: str, value: Any) -> int | None:
    """A whole number that is not negative and fits into 32 bits, or, of nodes, into 63."""
    if value is None:
        return None
    limit = 2**63 if what == "nodes" else 2**31
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < limit:
        raise VoteError(f"the {what} of a thought must be a whole number from 0, not {value!r:.60}")
    return int(value)


def _weight(value: Any, what: str = "a vote") -> float:
    try:
        weight = value if type(value) is float else float(value)
    except (TypeError, ValueError):
        raise VoteError(f"{value!r:.60} is no number") from None
    if not math.isfinite(weight):
        raise VoteError(f"{what} of {weight} is not finite")
    return weight
