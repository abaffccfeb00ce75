"""Adam (Kingma and Ba 2015): changes parameters by the mean of the last gradients, relative to the size of each."""

from __future__ import annotations

import numpy as np

from vindibot.learning.network import Floats

#: Decay of the means of the gradient and of its square, and the number that is added to the root of the second.
_MEAN, _SQUARE, _TINY = 0.9, 0.999, 1e-8


def adam_step(parameters: Floats, mean: Floats, square: Floats, gradient: Floats, size: float, steps: int) -> None:
    """Change `parameters` by one step against the gradient of a loss, and update the means `mean` and `square`.

    `size` is the step size. `steps` is the number of steps with these means, this one included.
    """
    mean += np.float32(1 - _MEAN) * (gradient - mean)
    square += np.float32(1 - _SQUARE) * (gradient * gradient - square)
    scale = np.float32(size * np.sqrt(1 - _SQUARE**steps) / (1 - _MEAN**steps))
    parameters -= scale * mean / (np.sqrt(square) + np.float32(_TINY))
