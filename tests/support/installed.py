"""A wheel of this checkout in an environment of its own, for slow tests; and programs to put first on a PATH."""

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
    """A folder with the programs `vindibot` and `python` as an environment would have them, running this checkout."""
    folder.mkdir()
    python = shlex.quote(sys.executable)
    for name, words in [("python", python), ("vindibot", f"{python} -m vindibot")]:
        path = folder / name
        path.write_text(f'#!/bin/sh\nexport PYTHONPATH={shlex.quote(str(TOP))}\nexec {words} "$@"\n')
        path.chmod(0o755)
    return folder


def install(folder: Path) -> Path:
    """Build a wheel, install it with what it needs into a new environment in `folder`, and return its folder of programs.

    Skips the test where no packages can be fetched.
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
