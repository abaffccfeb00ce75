"""Kernels are ready before any test runs: nothing compiles under a clock, not even a test's. And one browser for all tests."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

import behaviours
import sim
from sim import kernels
from vindibot import learning

#: A variable that says that tests must not be skipped because there is no browser.
REQUIRED = "TESTS_REQUIRE_BROWSER"

# Containers often set this. Without their compiled files, each of the processes that the tests begin would compile all sources.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# An example may take as long as it takes: the machine may be busy with other things. Each run has the same examples.
settings.register_profile("unhurried", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

if TYPE_CHECKING:
    from playwright.async_api import Browser


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of all groups of slow tests as slow, before pytest selects by markers."""
    for item in items:
        if any(marker.name.startswith("slow_") for marker in item.iter_markers()):
            item.add_marker("slow")


def pytest_collection_finish(session: pytest.Session) -> None:
    if not session.items or session.config.option.collectonly:
        return
    for package in (sim, behaviours, learning):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    kernels.warm()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Show what a program has printed if a test has waited for its end in vain."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, subprocess.TimeoutExpired):
        for text in (call.excinfo.value.output, call.excinfo.value.stderr):
            if text:
                report.sections.append(("printed so far", text if isinstance(text, str) else text.decode(errors="replace")))
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let a process that has no tests left take some of another process: single tests differ much in their length."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A real browser without a window; tests that use it run in the session's loop (see `tests.support.browser`)."""
    from playwright.async_api import Error, async_playwright

    from tests.support.browser import launch

    async with async_playwright() as playwright:
        try:
            started = await launch(playwright)
        except Error as error:
            if os.environ.get(REQUIRED):
                raise
            pytest.skip(f"there is no browser: {error.message.splitlines()[0]}")
        yield started
        await started.close()
