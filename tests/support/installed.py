"""Installs this checkout in a new environment, for slow tests, and makes programs for the front of a PATH."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.support.paths import TOP


def shims(folder: Path) -> Path:
    """Write the programs `vindibot` and `python` of this checkout into a folder, as in an environment. Return the folder."""
    folder.mkdir()
    python = shlex.quote(sys.executable)
    for name, words in [("python", python), ("vindibot", f"{python} -m vindibot")]:
        path = folder / name
        path.write_text(f'#!/bin/sh\nexport PYTHONPATH={shlex.quote(str(TOP))}\nexec {words} "$@"\n')
        path.chmod(0o755)
    return folder


def install(folder: Path) -> Path:
    """Build a wheel and install it with its dependencies into a new environment in `folder`. Return the folder of its programs.

    If no packages can be downloaded, the test is skipped.
    """
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment.pop("PYTHONPATH", None)
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    build = [programs / "pip", "wheel", "--no-deps", "--wheel-dir", folder / "wheels", TOP]
    done = subprocess.run(build, env=environment, capture_output=True, text=True, cwd=folder, check=False)
    if "No matching distribution found for hatchling" in done.stderr:
        pytest.skip("packages cannot be fetched here")
    assert done.returncode == 0, done.stderr
    (wheel,) = (folder / "wheels").iterdir()
    done = subprocess.run(
        [programs / "pip", "install", wheel], env=environment, capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return programs
