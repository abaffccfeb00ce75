"""The screening: orthogonal signs, and intervals that are right."""

from __future__ import annotations

import numpy as np

from vindibot.tuning.methods.screening import effects, signs, that_matter
from vindibot.tuning.methods.spsa import Gains


def test_the_signs_of_a_group_are_orthogonal() -> None:
    tried = np.array([signs(1, block, 25) for block in range(64)])
    assert np.array_equal(tried.T @ tried, 64 * np.eye(25))
    assert not np.array_equal(tried[:32], tried[32:])


def test_intervals_have_the_true_effect() -> None:
    """Also if the noise depends on the block."""
    true = np.array([0.1, -0.05, *[0.0] * 8])
    keys = [str(number) for number in range(10)]
    inside = chosen = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        tried = np.array([signs(seed, block, 10) for block in range(150)])
        found = effects(keys, tried, tried @ true + rng.normal(0, 0.4, 150) * rng.choice([0.5, 1.5], 150))
        inside += sum(one.low <= value <= one.high for one, value in zip(found, true, strict=True))
        chosen += bool(set(that_matter(found, 0.1)) - {"0", "1"})
        assert that_matter(found, 1) == keys
    assert 0.91 <= inside / 300 <= 0.99
    assert chosen <= 7


def test_gains_fall_and_steps_shrink() -> None:
    found = effects(["a", "b"], np.array([[1.0, 1.0], [1.0, -1.0]] * 20), [0.3, 0.1] * 20)
    gains = Gains.reaching(100, 5.0, found)
    assert gains.step(0) == 1
    assert gains.gain(0) > gains.gain(50) > gains.gain(99)
    assert gains.step(99) < gains.step(50)
    assert gains.factors[0] < gains.factors[1], "a small effect has a larger gain"
