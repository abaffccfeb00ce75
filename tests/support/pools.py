"""Pools of worker processes, and turns for them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from behaviours.base import View
from sim.board import parse
from sim.game import Games
from tests.support.paths import BOTS
from vindibot.config.bots import make_importable
from vindibot.engine.health import TraitHealth
from vindibot.engine.pool import Pool
from vindibot.engine.worker import TraitPlan
from vindibot.games.ballot import BallotEntry

BOARD = """
@1      @4
  $-  $-
    []
  $-  $-
@2      @3
"""

STAY = TraitPlan("behaviours.classic.stay:Stay", {})

#: Seconds of a turn: short, but long enough for quick traits on a busy machine.
TURN = 0.4


def trait(name: str, **parameters: Any) -> TraitPlan:
    return TraitPlan(f"bad_traits:{name}", parameters)


def records(plans: Sequence[TraitPlan]) -> list[TraitHealth]:
    make_importable([str(BOTS)])
    built = [plan.build() for plan in plans]
    return [TraitHealth.of(f"{number}-{type(behaviour).__name__}", 1.0, behaviour) for number, behaviour in enumerate(built)]


@asynccontextmanager
async def pool_of(*plans: TraitPlan, workers: int = 2, grace: float = 0.1) -> AsyncIterator[Pool]:
    pool = Pool(plans, records(plans), workers=workers, folders=[str(BOTS)], grace=grace)
    await pool.start()
    try:
        yield pool
    finally:
        await pool.close()


def game(turn: int = 0) -> Games:
    games = parse(BOARD)
    games["turn"] = turn
    return games


async def ask(pool: Pool, turn: int = 0, seconds: float = TURN, recent: Games | None = None, **more: Any) -> list[BallotEntry]:
    deadline = time.monotonic() + seconds
    entries = await pool.ask(View(game(turn), 0, recent=recent, seed=1), deadline=deadline, **more)
    # The call returns at the deadline, whatever the traits do. One second more is for a busy machine.
    assert time.monotonic() < deadline + 1.0
    return entries


def statuses(entries: Sequence[BallotEntry]) -> list[str]:
    return [entry.status for entry in entries]


def all_ready(pool: Pool) -> bool:
    return all(one.ready and not one.dead and not one.assigned for one in pool.workers)
