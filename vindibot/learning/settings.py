"""The settings of a training run by self-play."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from behaviours.net.network import LANES, MAX_HIDDEN


class SelfplaySettings(BaseModel):
    """The settings of a training run. Together with the number of threads they decide which net a run learns.

    The step size and the factor of the entropy fall in a straight line over the run, to a tenth of `step` and `entropy`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(1, ge=0, lt=2**63, description="seed of the maps, the games and the first weights")
    threads: int = Field(1, ge=1, le=256, description="number of threads; another number gives another net")
    hidden: int = Field(64, ge=LANES, le=MAX_HIDDEN, multiple_of=LANES, description="number of hidden units of each network")
    rounds: int = Field(300, ge=10, le=5000, description="length of a game, in rounds")
    guests: float = Field(0.5, ge=0, le=1, description="share of the games in which one, two or three seats are guests")
    discount: float = Field(0.99, gt=0, le=1, description="discount of rewards per round; larger: the net plans farther ahead")
    trace: float = Field(0.95, ge=0, le=1, description="decay of advantages per round (lambda of GAE)")
    step: float = Field(3e-3, gt=0, le=1, description="step size of Adam at the beginning")
    entropy: float = Field(0.01, ge=0, le=1, description="factor of the entropy at the beginning; larger: the net tries out more")
    clip: float = Field(0.2, gt=0, le=1, description="largest relative change of a move's probability that the loss rewards")
    value: float = Field(0.5, ge=0, le=10, description="factor of the error of the value in the loss")
    passes: int = Field(2, ge=1, le=20, description="number of passes over the decisions of a piece")
    batch: int = Field(4000, ge=100, le=1_000_000, description="number of decisions of a thread in one step")
