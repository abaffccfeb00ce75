"""Folders of a user's own that have the name of a package of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.test_imports import run, user_environment
from vindibot.devtools.scaffold import write_project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_project(tmp_path / "mybot")
    return tmp_path / "mybot"


@pytest.mark.slow
@pytest.mark.parametrize("package", ["behaviours", "vindibot"])
def test_pytest_names_the_file_that_hides_a_package(project: Path, package: str) -> None:
    path = project / f"{package}.py"
    path.touch()
    done = run(project, start=("-m", "pytest"))
    assert done.returncode != 0
    assert f"{path} hides the package '{package}' of vindibot: give it another name" in done.stdout + done.stderr


def test_commands_name_the_folder_that_hides_a_package(project: Path) -> None:
    (project / "sim").mkdir()
    (project / "sim" / "__init__.py").touch()
    path = user_environment()["PYTHONPATH"]
    done = run(project, start=("-c", "from vindibot.__main__ import main; main()"), PYTHONPATH=f"{project}:{path}")
    assert done.returncode == 2
    assert done.stderr == f"error: {project / 'sim'} hides the package 'sim' of vindibot: give it another name\n"


@pytest.mark.slow
def test_a_folder_without_modules_hides_nothing(project: Path) -> None:
    for package in ("behaviours", "sim", "vindibot"):
        (project / package).mkdir()
        (project / package / "notes.txt").touch()
    done = run(project, start=("-c", "import behaviours, vindibot.testing; print(behaviours.View.__module__)"))
    assert (done.returncode, done.stdout) == (0, "behaviours.base\n")
