"""Learned policies: a table of scores, fitted to the moves of a bot in recorded games (`vindibot tune imitate`).

The score of a move is the sum of the scores of its features (`behaviours.net.move_features`). The fit makes exp(score)
proportional to the probability of the move: a conditional logit model (McFadden 1974). In playouts the policy always makes the
move with the largest score.

Scores are whole numbers of 1 / `SCORE_UNIT`, so that sums and comparisons are the same on every machine. The **text** of a
policy has its scores, a byte for each of `FEATURES` features, in base64.
"""

from __future__ import annotations

import base64
import binascii

import numpy as np
from numpy.typing import NDArray

from behaviours.common.kernel_types import GameRecord, MapRecord, int64, uintp
from behaviours.net.move_features import FEATURES, SLOTS, features_of_move, mover_of
from sim.game import STAY
from sim.kernels import kernel

#: Number of units in a score of 1. A score is at least -127 and at most 127 units.
SCORE_UNIT = 20
#: Largest score of one feature.
MAX_SCORE = 127 / SCORE_UNIT


def scores_text(scores: NDArray[np.float64]) -> str:
    """Return the text of a policy with these scores (float64[`FEATURES`]). Scores beyond `MAX_SCORE` are cut off."""
    units = np.clip(np.rint(scores * SCORE_UNIT), -127, 127).astype(np.int8)
    units[0] = 0
    return base64.b64encode(units.tobytes()).decode()


def scores_of(text: str) -> NDArray[np.int8]:
    """Return the scores of a policy, in units of 1 / `SCORE_UNIT`: int8[`FEATURES`]. Raises `ValueError` for a faulty text."""
    try:
        found = np.frombuffer(base64.b64decode(text, validate=True), np.int8)
    except (binascii.Error, ValueError):
        raise ValueError("must be the text of a learned policy, in base64") from None
    if len(found) != FEATURES:
        raise ValueError(f"must have {FEATURES} bytes in base64, not {len(found)}: fit the policy again with this vindibot")
    return found


@kernel
def likeliest_move(game: GameRecord, tables: MapRecord, units: NDArray[np.int8], hero: int) -> int:
    """Return the move (0..4) of `hero` (0..3) with the largest score; the first of them if there are several."""
    best, choice = int64(-(1 << 40)), int64(STAY)
    mover = mover_of(game, tables, hero)
    for move in range(5):
        features = features_of_move(game, tables, hero, mover, move)
        if features[0] < 0:
            continue
        score = int64(0)
        for slot in range(SLOTS):
            score += int64(units[uintp(features[slot])])
        if score > best:
            best, choice = score, int64(move)
    return choice
