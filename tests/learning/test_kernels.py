"""The machine code of the kernels of learning belongs to all sources that it is made from."""

from __future__ import annotations

from sim.cache.sources import own_sources
from vindibot.learning.gradient import cross_entropy_gradient


def test_a_change_in_another_module_of_learning_is_other_machine_code() -> None:
    found = own_sources(cross_entropy_gradient.py_func)
    modules = {f"vindibot.learning.{name}" for name in ("gradient", "network", "collecting")}
    assert found.keys() == modules
    assert all(path.is_file() for path in found.values())
