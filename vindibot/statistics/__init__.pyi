from .differences import (
    EloEstimate as EloEstimate,
    NormalisedDifference as NormalisedDifference,
    estimate_difference as estimate_difference,
    normalised_difference as normalised_difference,
)
from .hypotheses import Hypotheses as Hypotheses
from .means import (
    mean_interval as mean_interval,
)
from .plans import (
    blocks_for_interval as blocks_for_interval,
    expected_blocks as expected_blocks,
)
from .rates import (
    rate_interval as rate_interval,
)
from .ratings import (
    MIN_BLOCKS as MIN_BLOCKS,
    RESAMPLES as RESAMPLES,
    Rating as Rating,
    rate as rate,
)
from .shares import (
    LEVEL as LEVEL,
    estimate_share as estimate_share,
)
from .sprt import (
    SequentialTest as SequentialTest,
    SprtState as SprtState,
)
