"""Styles: how a hero plays, as a few numbers that the policy of `behaviours.rollout.policy` understands."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from sim.game import MAX_LIFE

#: Values of `PolicyParams.fear`.
FEARLESS, FEARS_DEFEAT, FEARS_ALL = range(3)


class PolicyParams(BaseModel):
    """How a hero plays."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reserve: int = Field(2, ge=0, le=79, description="life to be left after the nearest mine has been reached and taken")
    drink: int = Field(60, ge=0, le=99, description="beside a tavern he drinks at this life or below")
    thirst: int = Field(35, ge=0, le=MAX_LIFE, description="at this life or below he goes to a tavern that is near")
    hunt: int = Field(2, ge=2, le=99, description="moves away at which prey is chased (2: only where one step strikes)")
    margin: int = Field(10, ge=-99, le=99, description="how much more life than a prey farther away he wants")
    greed: int = Field(2, ge=0, le=99, description="how many mines a prey farther away must have")
    fear: int = Field(
        FEARS_DEFEAT,
        ge=FEARLESS,
        le=FEARS_ALL,
        description="squares that he avoids: 0 none, 1 where an enemy strikes first and wins, 2 where any strikes first",
    )
    shy: int = Field(0, ge=0, le=12, description="moves at which he keeps away from enemies who would win (0: as `fear` says)")
    freeze: bool = Field(False, description="in danger he stands still rather than going round or to a tavern")
    habit: bool = Field(False, description="of rivals: where he did the same twice lately he does so again, nobody being near")


#: A style as kernels see it.
POLICY_PARAMS = np.dtype((np.record, [(name, "i4") for name in PolicyParams.model_fields]))
#: numba's name for an array of styles.
POLICY_ARRAY = numba.types.Array(numba.from_dtype(POLICY_PARAMS), 1, "C")
#: One record of `POLICY_PARAMS`.
PolicyRecord = Any

#: What others may be like: who judges duels, who stands off, who does not mind, hunters, careful ones, guests of taverns, those
#: who wait, those who dodge. No bot in particular; who of them sits where is found out from the orders given (see
#: `behaviours.rollout.opponents`).
LIBRARY = (
    PolicyParams(drink=75),
    PolicyParams(drink=30, thirst=20, fear=FEARS_ALL, freeze=True),
    PolicyParams(drink=50, thirst=25, hunt=5, margin=0, greed=1, fear=FEARLESS),
    PolicyParams(reserve=5, drink=75, thirst=40, hunt=10, margin=0, greed=1),
    PolicyParams(reserve=15, drink=80, thirst=50, margin=20),
    PolicyParams(drink=50, thirst=25, fear=FEARLESS),
    PolicyParams(drink=75, freeze=True),
    PolicyParams(drink=80, thirst=100),
    PolicyParams(drink=75, habit=True),
    PolicyParams(drink=75, shy=4),
)


@lru_cache(maxsize=64)
def compiled_policies(policies: tuple[PolicyParams, ...]) -> NDArray[np.void]:
    """The styles as an array of `POLICY_PARAMS` records. Kept for equal styles: do not change it."""
    compiled = np.zeros(len(policies), POLICY_PARAMS)
    for name in PolicyParams.model_fields:
        compiled[name] = [int(getattr(params, name)) for params in policies]
    return compiled
