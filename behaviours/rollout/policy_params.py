"""Parameters of the rollout policy (`behaviours.rollout.policy`): how a hero plays, as a few numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from behaviours.net.move_features import FEATURES
from behaviours.net.network import Net, NetError
from sim.game import MAX_LIFE

#: Values of `PolicyParams.fear`.
FEARLESS, FEARS_DEFEAT, FEARS_ALL = range(3)


class PolicyParams(BaseModel):
    """Parameters of the rollout policy."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reserve: int = Field(2, ge=0, le=79, description="smallest life that must be left after the hero takes the nearest mine")
    drink: int = Field(60, ge=0, le=99, description="largest life with which the hero drinks beside a tavern")
    thirst: int = Field(35, ge=0, le=MAX_LIFE, description="largest life with which the hero goes to a near tavern")
    hunt: int = Field(
        2, ge=2, le=99, description="largest distance of a prey that the hero follows, in moves (2: one step, then a blow)"
    )
    margin: int = Field(10, ge=-99, le=99, description="smallest lead in life over a prey that is more than 2 moves away")
    greed: int = Field(2, ge=0, le=99, description="smallest number of mines of a prey that is more than 2 moves away")
    fear: int = Field(
        FEARS_DEFEAT,
        ge=FEARLESS,
        le=FEARS_ALL,
        description="avoided squares: 0 none, 1 where an enemy strikes first and wins, 2 where any enemy strikes first",
    )
    shy: int = Field(
        0,
        ge=0,
        le=12,
        description="distance in moves that the hero keeps from enemies that would win a duel (0: only `fear` counts)",
    )
    freeze: bool = Field(False, description="whether a hero in danger stays instead of making a detour or going to a tavern")
    repeat_moves: bool = Field(
        False, description="for opponent models: the hero repeats a move that it made twice on its square, if no hero is near"
    )


#: A policy as a record for kernels: the fields of `PolicyParams`, or a learned policy. `learned` is 1 for a net without hidden
#: units, and `scores` has its linear part (`behaviours.net.network`).
POLICY_PARAMS = np.dtype(
    (np.record, [*((name, "i4") for name in (*PolicyParams.model_fields, "learned")), ("scores", "i2", FEATURES)])
)
#: numba's type of an array of policies.
POLICY_ARRAY = numba.types.Array(numba.from_dtype(POLICY_PARAMS), 1, "C")
#: One record of `POLICY_PARAMS`.
PolicyRecord = Any

#: Policies that rivals may have: some fight duels that they win, avoid every fight, fear no enemy, hunt or dodge; some play
#: carefully, wait, stay near taverns or repeat moves. No policy is a copy of a known bot. `behaviours.rollout.opponents` finds
#: the policies that predict a rival's moves.
LIBRARY = (
    PolicyParams(drink=75),
    PolicyParams(drink=30, thirst=20, fear=FEARS_ALL, freeze=True),
    PolicyParams(drink=50, thirst=25, hunt=5, margin=0, greed=1, fear=FEARLESS),
    PolicyParams(reserve=5, drink=75, thirst=40, hunt=10, margin=0, greed=1),
    PolicyParams(reserve=15, drink=80, thirst=50, margin=20),
    PolicyParams(drink=50, thirst=25, fear=FEARLESS),
    PolicyParams(drink=75, freeze=True),
    PolicyParams(drink=80, thirst=100),
    PolicyParams(drink=75, repeat_moves=True),
    PolicyParams(drink=75, shy=4),
)


@lru_cache(maxsize=64)
def compiled_policies(policies: tuple[PolicyParams, ...], nets: tuple[Net, ...] = ()) -> NDArray[np.void]:
    """Return policies as an array of `POLICY_PARAMS` records: first `policies`, then `nets`.

    The array comes from a cache: do not change it. Raises `NetError` for a net with hidden units or with other features than
    those of `behaviours.net.move_features`.
    """
    compiled = np.zeros(len(policies) + len(nets), POLICY_PARAMS)
    for name in PolicyParams.model_fields:
        compiled[name][: len(policies)] = [int(getattr(params, name)) for params in policies]
    for record, net in zip(compiled[len(policies) :], nets, strict=True):
        if not net.policy.is_basic:
            raise NetError(
                f"the net {net.name!r} cannot be an opponent model: it has hidden units, or features of whole positions"
            )
        record["learned"], record["scores"] = 1, net.policy.linear[:FEATURES]
    return compiled
