"""The example of a trainer and the notebook: they train, save, go on, and the net plays as a bot."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys

import gymnasium
import pytest

import vindibot.env
from tests.support.paths import TOP
from vindibot.env.table import Page

TRAINER, NOTEBOOK = TOP / "examples" / "trainer" / "ppo.py", TOP / "examples" / "notebooks" / "first.ipynb"


def cells():
    """The code of the notebook, cell by cell."""
    notebook = json.loads(NOTEBOOK.read_text())
    assert all(cell["outputs"] == [] for cell in notebook["cells"] if cell["cell_type"] == "code")
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_cell(code, names):
    """Run a cell as a notebook does, and return the value of its last line, if this is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_notebook_up_to_the_training(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in cells()[:3]:
        shown = run_cell(code.replace("render_mode=", "rounds=20, map_count=4, render_mode="), names)
    assert isinstance(shown, Page)
    assert "<iframe" in shown._repr_html_()
    assert "hero" in capsys.readouterr().out
    names["env"].close()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_whole_notebook(tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed")
    shutil.copytree(TOP / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples" / "notebooks")
    monkeypatch.setenv("PYTHONPATH", f"{TOP}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    names: dict[str, object] = {}
    for code in cells():
        shown = run_cell(code.replace("MINUTES = 5", "MINUTES = 0.3"), names)
    assert isinstance(shown, Page)
    names["env"].close()


def train(folder, *words):
    command = [sys.executable, str(TRAINER), "mine", "--hidden", "16", "--every", "5", *words]
    around = os.environ | {"PYTHONPATH": f"{TOP}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_trainer_trains_saves_and_goes_on(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    first = train(tmp_path, "--minutes", "1")
    assert first.returncode == 0, first.stderr
    assert "won" in first.stdout
    net = (tmp_path / "mine" / "mine.npz").read_bytes()
    assert train(tmp_path, "--minutes", "0.1").returncode == 2, "the run is there already"
    second = train(tmp_path, "--minutes", "0.3", "--resume")
    assert second.returncode == 0, second.stderr
    assert (tmp_path / "mine" / "mine.npz").read_bytes() != net
    env = gymnasium.make(vindibot.env.ID, rivals=[str(tmp_path / "mine" / "mine.toml")], rounds=3, map_count=1)
    env.reset(seed=1)
    env.step(0)
    env.close()
    assert train(tmp_path / "mine", "--resume").returncode == 2, "there is no run"
