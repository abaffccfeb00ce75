"""The losses of a bot in reviewed games: the mean loss per move, by class, by kind and by phase of the game.

The loss of a move is the gold that the move costs at the end of the game. Several moves of a hero can lose the same gold. If a
hero passes by a mine on three turns, each of the three moves loses the gold of this mine. So the sum of the losses of a game is
not the gold that better play would have gained. The mean loss per move compares bots and games.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self, get_args

from vindibot.games.files.review import Kind, Mark, ReviewedTurn
from vindibot.statistics.means import rate_interval

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
        found = cls()
        for turn in turns:
            lost = turn.loss if turn.counts else 0.0
            phase = min(len(PHASES) - 1, len(PHASES) * turn.turn // max(1, max_turns))
            found.moves, found.gold = found.moves + 1, found.gold + lost
            found.phases[phase] = found.phases[phase][0] + 1, found.phases[phase][1] + lost
            if turn.counts:
                found.marks[turn.mark] += 1
                found.kinds[turn.kind or OTHER_KIND] += lost
        return found

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
    found: defaultdict[str, BotLosses] = defaultdict(BotLosses)
    for block, names, turns, max_turns in games:
        for hero, name in enumerate(names, 1):
            own = [turn for turn in turns if turn.hero == hero]
            if own:
                found[name].blocks.setdefault(block, Losses()).add(Losses.of(own, max_turns))
    return dict(sorted(found.items(), key=lambda item: item[1].total.per_move()))
