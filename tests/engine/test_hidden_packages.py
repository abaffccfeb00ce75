"""Folders of a user's own that have the name of a package of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.test_imports import environment
from vindibot.devtools.scaffold import write_project

PACKAGES = ("behaviours", "sim", "vindibot")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_project(tmp_path / "mybot")
    return tmp_path / "mybot"


def python(folder: Path, *words: str, **more: str) -> tuple[int, str]:
    around = environment(**more)
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=around, capture_output=True, text=True, timeout=100, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("form", ["{}/__init__.py", "{}.py"])
@pytest.mark.parametrize("package", PACKAGES)
def test_pytest_names_the_folder_that_hides_a_package(project: Path, package: str, form: str) -> None:
    path = project / form.format(package)
    path.parent.mkdir(exist_ok=True)
    path.touch()
    code, told = python(project, "-m", "pytest")
    assert code != 0
    hides = path.parent if path.name == "__init__.py" else path
    assert f"{hides} hides the package '{package}' of vindibot: give it another name" in told


@pytest.mark.parametrize("package", PACKAGES[:2])
def test_commands_name_the_folder_that_hides_a_package(project: Path, package: str) -> None:
    (project / package).mkdir()
    (project / package / "__init__.py").touch()
    path = environment()["PYTHONPATH"]
    code, told = python(project, "-c", "from vindibot.__main__ import main; main()", PYTHONPATH=f"{project}:{path}")
    assert code == 2
    assert told == f"error: {project / package} hides the package '{package}' of vindibot: give it another name\n"


@pytest.mark.slow
def test_a_folder_without_modules_hides_nothing(project: Path) -> None:
    for package in PACKAGES:
        (project / package).mkdir()
        (project / package / "notes.txt").touch()
    code, told = python(project, "-c", "import behaviours, vindibot.testing; print(behaviours.View.__module__)")
    assert (code, told) == (0, "behaviours.base\n")
