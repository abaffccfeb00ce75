"""The agent: one hero's mind for one game. It turns a state and a deadline into a ballot, in time, every turn.

The fallback move comes first, then the traits are asked, and at the deadline what has been voted is summed. The history
that traits see is kept here, so that a replaced worker forgets nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import structlog

from behaviours.base import HISTORY, View
from behaviours.classic.mine import MineFinder
from behaviours.classic.tavern import TavernFinder
from sim.game import GAME, STAY, Games
from vindibot.config import Bot
from vindibot.engine.deadline import Timekeeper
from vindibot.engine.health import Conduct, is_anytime
from vindibot.engine.inline import Inline
from vindibot.engine.pool import Pool, Voters
from vindibot.engine.runner import Vote, run
from vindibot.engine.worker import TraitPlan
from vindibot.games import Ballot, BallotEntry, tally

log = structlog.get_logger("vindibot.engine.agent")

#: The traits, with weights, whose vote is the move that is made when no other came in time: drink when weak, else mine.
FALLBACK = ((TavernFinder(), 1.0), (MineFinder(), 0.5))


@dataclass
class Agent:
    """Decides the moves of hero `me` (0..3) in one game; `seed` is the source of everything random in it.

    `nodes` is a budget for traits that count nodes, None for as long as there is time.
    """

    voters: Voters
    me: int
    seed: int
    timekeeper: Timekeeper
    nodes: int | None = None

    def __post_init__(self) -> None:
        self.history: Games = np.zeros(0, GAME)

    async def decide(self, games: Games, received_at: float, limit: float, network: float = 0.0) -> Ballot:
        """The ballot for a state that was received at `received_at` (monotonic). Times are seconds.

        `limit` is the server's limit for the move, `network` what of it the order and its answer spend on the way.
        """
        view = View(games, self.me, history=self.history, seed=self.seed)
        prepared = fallback(view)
        deadline = self.timekeeper.deadline(received_at, limit, network)
        entries = await self.voters.ask(games, self.me, self.history, deadline=deadline, seed=self.seed, nodes=self.nodes)
        now = time.monotonic()
        self.timekeeper.decided(deadline, now)
        margin_ms = (received_at + limit - network - now) * 1000
        ballot = tally(entries, view.moves, lambda: view.rng("tie"), fallback=prepared, margin_ms=margin_ms)
        self.history = np.concatenate((self.history, games))[-HISTORY:]
        return ballot


def fallback(view: View) -> int:
    """A quick, sensible move: to the tavern when weak, else to the nearest mine that is not ours, else stay."""
    entries: list[BallotEntry] = []
    weights = dict(enumerate(FALLBACK))

    def publish(vote: Vote) -> None:
        number, votes, status = vote.trait, vote.votes, vote.status
        if status == "ok" and votes is not None:
            entries.append(BallotEntry("fallback", weights[number][1], list(votes)))

    run([(number, behaviour) for number, (behaviour, _) in enumerate(FALLBACK)], view, publish)
    if not entries:
        return STAY
    return tally(entries, view.moves, lambda: view.rng("fallback")).direction


def conducts(bot: Bot, strikes: int) -> list[Conduct]:
    """A clean record for each trait of a bot."""
    return [Conduct(spec.label, spec.weight, is_anytime(behaviour), strikes) for spec, behaviour in bot.build()]


def voters(bot: Bot, *, workers: int, in_process: bool = False, grace: float = 0.1, strikes: int = 3) -> Voters:
    """Whoever votes for a bot: worker processes, or the traits in this process. To be started, and closed at the end."""
    records = conducts(bot, strikes)
    if in_process:
        return Inline([behaviour for _, behaviour in bot.build()], records)
    plans = [TraitPlan(spec.class_path, dict(spec.parameters)) for spec in bot.traits]
    return Pool(plans, records, workers=workers, folders=bot.folders, grace=grace)
