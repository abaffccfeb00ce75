"""Reviews: the value of every move on reviewed turns of a game, as lines of JSON below the lines of this game.

A file with a review first has the lines of the game: a recording, or one game record. Below them is a line with the header of
the review (`ReviewHeader`), and a line per reviewed turn (`ReviewedTurn`). docs/recordings.md describes the lines.

The **loss** of a move is the gold that the move costs at the end of the game. Several moves of a hero can lose the same gold. If
a hero passes by a mine on three turns, each of the three moves loses the gold of this mine. So the sum of the losses of a game is
not the gold that better play would have gained. The mean loss per move compares bots and games.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sim.game import PLIES_PER_ROUND
from sim.pictures.sprites import HERO_COLOURS
from vindibot import __version__
from vindibot.base.errors import VindibotError
from vindibot.base.pages import Curve, lines, render
from vindibot.base.text import counted
from vindibot.games.files.lines import fault, whole_lines
from vindibot.games.position import DIRECTION_LETTERS
from vindibot.statistics.means import rate_interval

#: The version of the lines of a review that this program writes and reads.
VERSION: Final = 1
#: The first bytes of every line of a review.
PREFIX = b'{"review'
#: The end of the name of a file with a review.
REVIEW_SUFFIX = ".review.jsonl"
#: Largest length of an expected line (the moves that would follow a move), in plies.
LONGEST_LINE = 48

Direction = Literal["Stay", "North", "South", "East", "West"]
#: The class of a move: "" if its loss does not count. The smallest losses are first.
Mark = Literal["", "inaccuracy", "mistake", "blunder"]
#: What was wrong with a move: "" if no rule applies. Reports have this order.
Kind = Literal[
    "",
    "walked into a fight",
    "stood still",
    "drank too late",
    "passed by a mine",
    "left a tavern open",
    "stalled",
    "avoided a useful death",
    "kept up a stand-off",
    "swapped mines",
]
_Four = tuple[float, float, float, float]
_Moves = Annotated[str, Field(pattern=rf"^[{DIRECTION_LETTERS}]*$", max_length=LONGEST_LINE)]


class ReviewError(VindibotError):
    """A review cannot be read. The message names the file, the line and the reason."""


class _ReviewLine(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Thresholds(_ReviewLine):
    """The smallest losses for which a move counts as bad: in gold for each class, and in standard errors (`errors`) for all
    classes."""

    inaccuracy: float = Field(5.0, ge=0, le=10_000, description="least loss of an inaccuracy, in gold")
    mistake: float = Field(12.0, ge=0, le=10_000, description="least loss of a mistake, in gold")
    blunder: float = Field(25.0, ge=0, le=10_000, description="least loss of a blunder, in gold")
    errors: float = Field(3.0, ge=0, le=100, description="least loss that counts, in standard errors of the loss")

    def mark(self, loss: float, error: float) -> Mark:
        """Return the class of a move that lost `loss` gold, with the standard error `error`. Return "" if the loss does not
        count."""
        if loss < self.errors * error:
            return ""
        marks: tuple[Mark, ...] = ("blunder", "mistake", "inaccuracy")
        return next((mark for mark in marks if loss >= getattr(self, mark) and loss > 0), "")

    def mark_of(self, turn: ReviewedTurn) -> Mark:
        """Return the class of the played move of a reviewed turn. A move that the reviewing bot itself may play is never bad."""
        return "" if turn.move in turn.choice else self.mark(turn.loss, turn.loss_error)


class MoveValue(_ReviewLine):
    """The value of one move.

    - `gold`: the expected gold of heroes 1..4 at the end of the game. `gold_error`: its standard errors.
    - `less`: the gold that the hero loses by this move against the best move; 0 for the best move.
    - `less_error`: the standard error of `less`. All moves are played in the same scenarios, so this error is smaller than the
      error of `gold`.
    """

    move: Direction
    gold: _Four
    gold_error: _Four
    less: float
    less_error: float


class ReviewedTurn(_ReviewLine):
    """The review of one turn of one hero.

    - `turn`: the turn of the protocol. `hero`: the hero's id, 1..4.
    - `move`: the move that was played. A move without an effect, such as a move against a wall, counts as Stay.
    - `best`: the move after which the hero has the most expected gold at the end of the game.
    - `loss`: the gold that the move lost against the best move. `loss_error`: its standard error.
    - `choice`: the moves that the reviewing bot itself may play, if it was asked. They are never marked as bad.
    - `mark`: the class of the move. `kind`: what was wrong with it.
    - `values`: the value of each move that has an effect.
    - `best_line`, `played_line`: the expected moves of all heroes, a letter per ply, ``.`` for Stay. The first letter is the
      best move or the played move. Both lines are from the same scenario.
    - `nodes`: the number of plies that were played out.
    """

    turn: int = Field(ge=0)
    hero: int = Field(ge=1, le=4)
    move: Direction
    best: Direction
    loss: float
    loss_error: float
    choice: tuple[Direction, ...] = ()
    mark: Mark = ""
    kind: Kind = ""
    values: tuple[MoveValue, ...] = Field(min_length=1, max_length=5)
    best_line: _Moves = ""
    played_line: _Moves = ""
    nodes: int = Field(0, ge=0)

    def value(self, move: str) -> MoveValue:
        """Return the value of a move. Raises KeyError for a move without a value."""
        for value in self.values:
            if value.move == move:
                return value
        raise KeyError(move)

    @property
    def counts(self) -> bool:
        """Whether the played move is bad: its loss is large and certain enough to count."""
        return bool(self.mark)


class ReviewHeader(_ReviewLine):
    """The header of a review.

    - `program`: the version of vindibot that made the review.
    - `game`: the id of the game. `heroes`: the ids of the reviewed heroes, 1..4.
    - `bot`: the bot whose playouts value the moves. `digest`: a digest of everything that the values depend on.
    - `nodes`: the number of plies that are played out per turn. `rounds`: the length of a playout in rounds (0: to the end of the
      game).
    - `thresholds`: the smallest losses of bad moves.
    """

    version: int = Field(VERSION, ge=VERSION, le=VERSION)
    program: str = __version__
    game: str
    heroes: tuple[Annotated[int, Field(ge=1, le=4)], ...]
    bot: str
    digest: str = ""
    nodes: int = Field(ge=1)
    rounds: int = Field(0, ge=0)
    thresholds: Thresholds = Thresholds()


class _ReviewHeaderLine(_ReviewLine):
    review: ReviewHeader


class _ReviewedLine(_ReviewLine):
    reviewed: ReviewedTurn


@dataclass(frozen=True)
class Review:
    """The review of a game: the header, and the reviewed turns in the order of the game."""

    header: ReviewHeader
    turns: tuple[ReviewedTurn, ...] = ()

    def of(self, hero: int) -> tuple[ReviewedTurn, ...]:
        """Return the reviewed turns of a hero (0..3)."""
        return tuple(turn for turn in self.turns if turn.hero == hero + 1)

    def at(self, turn: int) -> ReviewedTurn | None:
        """Return the review of the turn with the protocol's number `turn`, None if this turn was not reviewed."""
        return next((reviewed for reviewed in self.turns if reviewed.turn == turn), None)

    def worst(self, most: int | None = None, hero: int | None = None) -> list[ReviewedTurn]:
        """Return the turns with bad moves, the largest loss first, at most `most` turns. `hero` (0..3) selects one hero."""
        counting = [turn for turn in self.turns if turn.counts and hero in (None, turn.hero - 1)]
        return sorted(counting, key=lambda turn: (-turn.loss, turn.turn))[:most]

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the expected gold of the heroes over time, and the ten worst moves."""
        curves = expected_picture(self.turns) if self.turns else ""
        size = f"{counted(len(self.turns), 'turn')}, {counted(len(self.worst()), 'bad move')}"
        return str(render("games/review.html", review=self, size=size, curves=curves, worst=self.worst(10)))


def review_path(path: Path) -> Path:
    """Return the default path of the file with the review of the games in the file `path`."""
    if path.name.endswith(REVIEW_SUFFIX):
        return path
    return path.with_name(path.name.removesuffix(".gz").removesuffix(".jsonl") + REVIEW_SUFFIX)


def is_review_line(line: bytes) -> bool:
    """Return whether a line of a file belongs to a review."""
    return line.startswith(PREFIX)


def write_review_line(line: ReviewHeader | ReviewedTurn) -> bytes:
    """Return a line of a review, without a line end."""
    if isinstance(line, ReviewHeader):
        return _ReviewHeaderLine(review=line).model_dump_json().encode()
    return _ReviewedLine(reviewed=line).model_dump_json().encode()


def parse_review(lines: Iterable[tuple[int, bytes]], path: Path | str) -> list[Review]:
    """Return the reviews in `lines`, one per game, in the order of the file.

    `lines` are pairs of a line number and a line. `path` is the file that error messages name. A review may have several headers,
    because it can be continued. The last header counts, and its thresholds give the class of each turn. Raises `ReviewError`.
    """
    headers: dict[str, ReviewHeader] = {}
    turns_of: dict[str, dict[tuple[int, int], ReviewedTurn]] = {}
    game: str | None = None
    for number, line in lines:
        try:
            if line.startswith(PREFIX + b'"'):
                header = _ReviewHeaderLine.model_validate_json(line).review
                game = header.game
                headers[game] = header
                turns_of.setdefault(game, {})
            elif game is None:
                raise ReviewError(f"{path}, line {number}: a reviewed turn comes before the header of its review")
            else:
                turn = _ReviewedLine.model_validate_json(line).reviewed
                turns_of[game][turn.turn, turn.hero] = turn
        except ValidationError as problem:
            raise ReviewError(f"{path}, line {number}: {fault(problem, VERSION)}") from None
    return [_marked(headers[game], [turns[key] for key in sorted(turns)]) for game, turns in turns_of.items()]


def _marked(header: ReviewHeader, turns: Sequence[ReviewedTurn]) -> Review:
    marks = (header.thresholds.mark_of(turn) for turn in turns)
    return Review(header, tuple(turn.model_copy(update={"mark": mark}) for turn, mark in zip(turns, marks, strict=True)))


def read_reviews(path: Path | str) -> list[Review]:
    """Return the reviews in a file, one per game. Raises `ReviewError` if the file or a review cannot be read."""
    return parse_review((numbered for numbered in whole_lines(Path(path), ReviewError) if is_review_line(numbered[1])), path)


def read_review(path: Path | str, game: str | None = None) -> Review | None:
    """Return the review of the game with the id `game` in a file, None if there is none. Without `game`, return the first review.

    Raises `ReviewError` if the file or a review cannot be read.
    """
    return next((review for review in read_reviews(path) if game in (None, review.header.game)), None)


def expected_picture(turns: Sequence[ReviewedTurn]) -> str:
    """Return the chart of the final gold of the four heroes, as a review estimates it after each played move.

    `turns` has at least one reviewed turn. Each round with reviewed turns has one point: the mean of these turns.
    """
    rounds: dict[int, list[Sequence[float]]] = {}
    for turn in turns:
        rounds.setdefault(turn.turn // PLIES_PER_ROUND, []).append(turn.value(turn.move).gold)
    rows = [[sum(values) / len(values) for values in zip(*golds, strict=True)] for golds in rounds.values()]
    return hero_picture("expected gold at the end", [PLIES_PER_ROUND * number for number in rounds], rows)


def hero_picture(title: str, turns: Sequence[int], rows: Sequence[Sequence[float]]) -> str:
    """Return a chart (SVG) with a curve per hero. `turns` are the turns of the points, `rows` the four values of each point."""
    series = [Curve(f"@{hero + 1}", hero, [row[hero] for row in rows], turns) for hero in range(len(HERO_COLOURS))]
    return lines(series, title, "turn", title, colours=[colours["main"] for colours in HERO_COLOURS])


#: The classes of bad moves, the smallest losses first.
MARKS = get_args(Mark)[1:]
#: Name of the kind of a bad move to which no rule applies.
OTHER_KIND = "other"
#: The kinds of bad moves, in the order of reports.
KINDS_OF_LOSS = (*get_args(Kind)[1:], OTHER_KIND)
#: The phases of a game: thirds of its turns.
PHASES = ("first third", "second third", "last third")
#: Smallest number of blocks for which there is an interval.
MIN_BLOCKS = 3


@dataclass
class Losses:
    """The losses of reviewed moves, in gold. Only the losses of bad moves (inaccuracies, mistakes and blunders) count.

    - `moves`: the number of reviewed moves, good and bad. `gold`: the sum of the losses of the bad moves.
    - `marks`: the number of bad moves of each class. `kinds`: the sum of the losses of each kind of bad move.
    - `phases`: the number of moves and the sum of the losses in each third of the game.
    """

    moves: int = 0
    gold: float = 0.0
    marks: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MARKS, 0))
    kinds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(KINDS_OF_LOSS, 0.0))
    phases: list[tuple[int, float]] = field(default_factory=lambda: [(0, 0.0)] * len(PHASES))

    @classmethod
    def of(cls, turns: Iterable[ReviewedTurn], max_turns: int) -> Self:
        """Return the losses of reviewed turns of a game of `max_turns` plies."""
        losses = cls()
        for turn in turns:
            lost = turn.loss if turn.counts else 0.0
            phase = min(len(PHASES) - 1, len(PHASES) * turn.turn // max(1, max_turns))
            losses.moves, losses.gold = losses.moves + 1, losses.gold + lost
            losses.phases[phase] = losses.phases[phase][0] + 1, losses.phases[phase][1] + lost
            if turn.counts:
                losses.marks[turn.mark] += 1
                losses.kinds[turn.kind or OTHER_KIND] += lost
        return losses

    def add(self, other: Losses) -> None:
        """Add the losses of other moves."""
        self.moves, self.gold = self.moves + other.moves, self.gold + other.gold
        for mark in MARKS:
            self.marks[mark] += other.marks[mark]
        for kind in KINDS_OF_LOSS:
            self.kinds[kind] += other.kinds[kind]
        pairs = zip(self.phases, other.phases, strict=True)
        self.phases = [(moves + more, gold + lost) for (moves, gold), (more, lost) in pairs]

    def per_move(self, kind: str | None = None) -> float:
        """Return the mean loss per reviewed move in gold, of all bad moves or of bad moves of one `kind`."""
        return (self.gold if kind is None else self.kinds[kind]) / max(1, self.moves)


@dataclass
class BotLosses:
    """The losses of a bot in several games, by the number of the block. A block is a group of games on the same map. These games
    are not independent."""

    blocks: dict[int, Losses] = field(default_factory=dict)

    @property
    def total(self) -> Losses:
        """The losses in all blocks."""
        total = Losses()
        for losses in self.blocks.values():
            total.add(losses)
        return total

    def interval(self, kind: str | None = None, seed: int = 0) -> tuple[float, float] | None:
        """Return the 95 % interval of `per_move`. Return None for fewer than 3 blocks.

        It is the interval of a rate (`vindibot.statistics.means`). An event is a bad move that loses the mean loss of all bad
        moves, or 1 gold if there is no bad move. `seed` is the seed of the bootstrap.
        """
        if len(self.blocks) < MIN_BLOCKS:
            return None
        bad = sum(self.total.marks.values())
        each = self.total.gold / bad if bad and self.total.gold else 1.0
        gold = [losses.gold if kind is None else losses.kinds[kind] for losses in self.blocks.values()]
        low, high = rate_interval([lost / each for lost in gold], [losses.moves for losses in self.blocks.values()], seed)
        return each * low, each * high


def losses_by_bot(games: Iterable[tuple[int, Sequence[str], Sequence[ReviewedTurn], int]]) -> dict[str, BotLosses]:
    """Return the losses of each bot, the smallest losses first.

    `games` has for each game: the number of its block, the names of heroes 1..4, the reviewed turns, and its length in plies.
    """
    losses: defaultdict[str, BotLosses] = defaultdict(BotLosses)
    for block, names, turns, max_turns in games:
        for hero, name in enumerate(names, 1):
            own = [turn for turn in turns if turn.hero == hero]
            if own:
                losses[name].blocks.setdefault(block, Losses()).add(Losses.of(own, max_turns))
    return dict(sorted(losses.items(), key=lambda item: item[1].total.per_move()))
