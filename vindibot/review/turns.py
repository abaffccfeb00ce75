"""The review of one turn: the values of all moves, the loss of the played move, its class and kind, and the expected lines."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sim import kernels
from sim.game import DIRECTIONS
from vindibot.config.bots import Bot, name_to_load
from vindibot.config.signature import build, digest_of
from vindibot.devtools.trials.asking import best_moves
from vindibot.games.files.review import LONGEST_LINE, Kind, MoveValue, ReviewedTurn, ReviewHeader, Thresholds
from vindibot.processes.inside import Owner
from vindibot.processes.tasks import serve_tasks
from vindibot.review.kinds import kind_of
from vindibot.review.positions import TurnPosition
from vindibot.review.values import SEED, Outcomes, Valuer, rollout_of

#: Smallest loss, in gold and in standard errors, for which the reviewing bot is asked for its own move.
ASK_GOLD, ASK_ERRORS = 2.0, 2.0

#: The letters of the directions 0..4 in an expected line.
LETTERS = ".NSEW"


#: The function of a process that reviews turns.
RUN = "vindibot.review.turns:serve"


@dataclass(frozen=True)
class Reviewer:
    """A reviewing bot and the settings of a review.

    - `bot`: the bot whose playouts value the moves. It is also asked for its own move.
    - `nodes`: the number of plies that are played out per turn, and the bot's search budget for its own move.
    - `rounds`: the length of a playout in rounds, 0 for a playout to the end of the game.
    - `thresholds`: the smallest losses of bad moves. `seed`: the seed of the scenarios.
    """

    bot: Bot
    nodes: int
    rounds: int
    thresholds: Thresholds
    seed: int = SEED

    def header(self, game: str, heroes: Collection[int]) -> ReviewHeader:
        """Return the header of the review of heroes (0..3) of a game. Raises `UsageError` if the bot has no trait `rollout`."""
        rollout_of(self.bot)
        digest = digest_of({"build": build().digest, "bot": self.bot.digest, "run": [self.nodes, self.rounds, self.seed]})
        ids = tuple(sorted(hero + 1 for hero in heroes))
        return ReviewHeader(
            game=game,
            heroes=ids,
            bot=name_to_load(self.bot) or self.bot.name,
            digest=digest,
            nodes=self.nodes,
            rounds=self.rounds,
            thresholds=self.thresholds,
        )

    @cached_property
    def valuer(self) -> Valuer:
        """The object that values moves by the rollouts of the bot."""
        return Valuer(rollout_of(self.bot), self.nodes, self.rounds, self.seed)

    @cached_property
    def long_valuer(self) -> Valuer:
        """The object that values moves in a cycle: its playouts go to the end of the game.

        A cycle can last longer than a playout. Then the end of a short playout does not show what the cycle costs.
        """
        return self.valuer if self.rounds == 0 else Valuer(rollout_of(self.bot), self.nodes, 0, self.seed)

    def choice(self, position: TurnPosition) -> set[str]:
        """Return the moves that the bot itself may play on this turn; several may tie."""
        return best_moves(self.bot, position.view(self.nodes))


def review_turn(position: TurnPosition, reviewer: Reviewer) -> ReviewedTurn:
    """Return the review of one turn of one hero by `reviewer`."""
    view = position.view()
    valuer, thresholds = reviewer.valuer if position.cycle is None else reviewer.long_valuer, reviewer.thresholds
    outcomes = valuer.outcomes(view)
    own = outcomes.gold[:, :, view.me]
    best, played = int(own.mean(axis=0).argmax()), outcomes.moves.index(position.move)
    values = tuple(_value(outcomes, number, best, view.me) for number in range(len(outcomes.moves)))
    loss, error = values[played].less, values[played].less_error
    choice = reviewer.choice(position) if loss >= max(ASK_GOLD, ASK_ERRORS * error) else set()
    kind: Kind = ""
    if best != played:
        lines = outcomes.lines[:, played], outcomes.lines[:, best]
        kind = kind_of(view, position.cycle, position.move, outcomes.moves[best], *lines)
    scenario = _typical(own[:, [played, best]])
    turn = ReviewedTurn(
        turn=position.turn,
        hero=view.me + 1,
        move=DIRECTIONS[position.move],
        best=DIRECTIONS[outcomes.moves[best]],
        loss=loss,
        loss_error=error,
        choice=tuple(sorted(choice)),
        kind=kind,
        values=values,
        best_line=_text(outcomes.lines[scenario, best]),
        played_line=_text(outcomes.lines[scenario, played]),
        nodes=outcomes.nodes,
    )
    return turn.model_copy(update={"mark": thresholds.mark_of(turn)})


def serve(owner: Owner) -> None:
    """Review turns in another process. The setup is a `Reviewer`. A task is a `TurnPosition` as bytes, a result is JSON."""
    reviewer: Reviewer = owner.setup_object()
    reviewer.bot.build()
    kernels.warm()
    serve_tasks(owner, lambda task: review_turn(TurnPosition.from_bytes(task), reviewer).model_dump_json().encode())


def _value(outcomes: Outcomes, number: int, best: int, me: int) -> MoveValue:
    gold, count = outcomes.gold[:, number], len(outcomes.gold)
    less = outcomes.gold[:, best, me] - gold[:, me]
    return MoveValue(
        move=DIRECTIONS[outcomes.moves[number]],
        gold=tuple(round(value, 1) for value in gold.mean(axis=0).tolist()),
        gold_error=tuple(round(value, 2) for value in (gold.std(axis=0, ddof=1) / count**0.5).tolist()),
        less=round(float(less.mean()), 2),
        less_error=round(float(less.std(ddof=1)) / count**0.5, 2),
    )


def _typical(gold: NDArray[np.float64]) -> int:
    """Return the number of the scenario whose results are nearest to the mean results.

    `gold` has the results: float64[scenarios, moves]. The distance is in standard deviations, summed over the moves.
    """
    away = np.abs(gold - gold.mean(axis=0)) / np.maximum(gold.std(axis=0), 1e-9)
    return int(away.sum(axis=1).argmin())


def _text(line: NDArray[np.int8]) -> str:
    return "".join(LETTERS[move] for move in line[:LONGEST_LINE].tolist() if move >= 0)
