"""The turns of games on which two bots move differently, and what these differences are worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from sim.game import DIRECTIONS
from vindibot.config.bots import Bot
from vindibot.devtools.trials.trial import voting_elsewhere
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.games.files.review import ReviewedTurn
from vindibot.games.history import GameHistory
from vindibot.review.positions import TurnPosition, positions
from vindibot.review.situations import phase_of, situation_of

#: Seed of the choice of turns. It is constant, so the same command chooses the same turns.
SEED = 48


@dataclass(frozen=True, eq=False)
class Game:
    """A game whose turns are compared: its history, the number of its block, and the heroes (0..3) whose turns count."""

    history: GameHistory
    block: int
    heroes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class AskedTurn:
    """A turn about which both bots were asked.

    - `game`: the game. `position`: the turn of the hero. `phase`, `situation`: see `vindibot.review.situations`.
    - `moves`: for each bot, the moves (0..4) that it may play; several may tie.
    - `traits`: the labels of the traits that decide the difference: if this trait of the first bot voted as in the second bot,
      the first bot could play the move of the second. Empty if only several traits together decide it.
    - `review`: the values of all moves, None before they are valued. The reviewed move is one of the first bot's.
    """

    game: Game
    position: TurnPosition = field(repr=False)
    phase: str
    situation: str
    moves: tuple[frozenset[int], frozenset[int]]
    traits: tuple[str, ...] = ()
    review: ReviewedTurn | None = None

    @property
    def differs(self) -> bool:
        """Whether the bots have no move in common."""
        return not self.moves[0] & self.moves[1]

    def names(self, bot: int) -> str:
        """Return the moves of a bot (0 or 1) as text."""
        return " or ".join(DIRECTIONS[move] for move in sorted(self.moves[bot]))

    @property
    def gain(self) -> float:
        """The gold by which the second bot's move is better than the first bot's. The turn must be valued."""
        return _loss(self, 0)[0] - _loss(self, 1)[0]

    @property
    def gain_error(self) -> float:
        """The standard error of `gain`, or a larger number: both moves were compared with the best move, not with each other."""
        return math.hypot(_loss(self, 0)[1], _loss(self, 1)[1])


def _loss(turn: AskedTurn, bot: int) -> tuple[float, float]:
    """Return the mean loss of a bot's moves against the best move, and its standard error."""
    assert turn.review is not None
    values = [turn.review.value(DIRECTIONS[move]) for move in turn.moves[bot]]
    return sum(one.less for one in values) / len(values), sum(one.less_error for one in values) / len(values)


def chosen_turns(games: Sequence[Game], most: int) -> Iterator[tuple[Game, TurnPosition]]:
    """Yield at most `most` turns of the games, chosen at random among the turns of the heroes that count, in their order."""
    plies = [[ply for ply in range(len(game.history)) if game.history.turn(ply) % 4 in game.heroes] for game in games]
    total = sum(map(len, plies))
    chosen = np.zeros(total, bool)
    chosen[np.random.default_rng(SEED).permutation(total)[:most]] = True
    start = 0
    for game, numbers in zip(games, plies, strict=True):
        wanted = {ply for ply, taken in zip(numbers, chosen[start : start + len(numbers)], strict=True) if taken}
        start += len(numbers)
        if wanted:
            yield from ((game, one) for one in positions(game.history, game.heroes) if one.number in wanted)


def ask_both(
    bots: tuple[Bot, Bot], turns: Iterator[tuple[Game, TurnPosition]], nodes: int, asked: Callable[[], None]
) -> list[AskedTurn]:
    """Return what the two bots play on these turns, with a search budget of `nodes` nodes. `asked` is called after each turn.

    Each bot runs in a process of its own, and both think at the same time.
    """
    found = []
    with (
        voting_elsewhere(bots[0]) as first,
        voting_elsewhere(bots[1]) as second,
        ThreadPoolExecutor(2, "vindibot-diff") as threads,
    ):
        for game, position in turns:
            view = position.view()
            ballots = [threads.submit(vote, position.view(nodes)) for vote in (first, second)]
            one, other = (ballot.result() for ballot in ballots)
            moves = _best(one.entries, one.candidates), _best(other.entries, other.candidates)
            turn = AskedTurn(game, position, phase_of(position.turn, int(view.game.max_turns)), situation_of(view), moves)
            found.append(replace(turn, traits=deciding_traits(one, other)) if turn.differs else turn)
            asked()
    return found


def _best(entries: Sequence[BallotEntry], candidates: Sequence[int]) -> frozenset[int]:
    """Return the candidates (0..4) with the largest sum of weighted votes."""
    votes = [entry.weighted for entry in entries if entry.votes is not None]
    sums = {move: math.fsum(vote[move] for vote in votes) for move in candidates}
    most = max(sums.values())
    return frozenset(move for move in candidates if sums[move] == most)


def deciding_traits(first: Ballot, second: Ballot) -> tuple[str, ...]:
    """Return the labels of the traits that decide why two bots move differently, see `AskedTurn.traits`.

    A trait that only one of the bots has counts as a trait without votes of the other bot.
    """
    ours, theirs = ({entry.label: entry for entry in ballot.entries} for ballot in (first, second))
    goal = _best(second.entries, second.candidates)
    return tuple(
        label
        for label in {**ours, **theirs}
        if _best([*({**ours, label: theirs.get(label, BallotEntry(label, 0.0))}).values()], first.candidates) & goal
    )
