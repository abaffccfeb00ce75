"""Kernels are ready before any test runs: nothing compiles under a clock."""

import importlib
import pkgutil

import pytest

import behaviours
import sim
from sim import kernels


@pytest.fixture(scope="session", autouse=True)
def warm_kernels() -> None:
    for package in (sim, behaviours):
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    kernels.warm()
