"""The trait `learned`, which plays a net alone."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from behaviours.base import Behaviour, DataFile, View, Votes
from behaviours.common.map_tables import map_tables_of
from behaviours.net.features import FOUND
from behaviours.net.network import UNIT, compiled_networks, load_nets
from behaviours.net.scoring import net_move


def check_nets(path: str) -> str:
    """Return `path`. Raises `behaviours.net.network.NetError`, a `ValueError`, if it is not the path of a file of nets."""
    load_nets(Path(path))
    return path


class Learned(Behaviour):
    """Vote (score - best score) / scale for each direction, at least -1. A net gives the scores.

    A net is a small network that has learned to play from games against itself or from recorded games (`vindibot learn`). Its
    scores are logarithms of probabilities: the net considers a direction whose score is lower by 1 as 2.7 times less likely.
    """

    net: Annotated[DataFile, AfterValidator(check_nets)] = Field(
        description="the file of the net, from `vindibot learn`; the first net of the file plays"
    )
    scale: float = Field(4.0, gt=0, le=1000, description="difference to the best score at which a vote is -1")

    def vote(self, view: View) -> Votes:
        """Return the votes of the net."""
        features, array = np.zeros(1, FOUND), np.zeros(5, np.int64)
        net_move(self._networks, 0, view.games, 0, view.me, map_tables_of(view.map), features, array)
        scores = array.tolist()
        best, unit = max(scores), UNIT * UNIT * self.scale
        return {move: max(-1.0, (scores[move] - best) / unit) for move in view.moves}

    @cached_property
    def _networks(self) -> NDArray[np.void]:
        return compiled_networks([load_nets(Path(self.net))[0].policy])
