"""`vindibot tree`: its scores are minimax, and it can be read and drawn."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from behaviours import View
from behaviours.common.evaluation import Weights
from behaviours.search.deepening import SearchParams, iterative_deepening
from behaviours.search.records import INFINITE
from sim.board import draw
from sim.game import Games, mover
from sim.generator import generate
from sim.maps import map_of
from sim.rules import step
from tests.support.commands import printed
from tests.support.minimax import Minimax
from tests.support.placements import random_position
from tests.support.positions import enemies
from tests.support.recorded import BALLOT, HEADER, raw
from vindibot.cli.main import main
from vindibot.devtools.tree import build_tree
from vindibot.games.files.recording import Recorder, TraitHeader


def params_of(games: Games, mode: int, clip: int, *, quiescence: int = 3) -> SearchParams:
    return SearchParams(mover(games), enemies(games), mode, quiescence=quiescence, clip=clip, death=2000)


def test_its_scores_are_those_of_minimax() -> None:
    rng = np.random.default_rng(31)
    for number in range(150):
        games = random_position(rng)
        params = params_of(games, number % 3, INFINITE >> 1)
        depth, top = int(rng.integers(1, 6)), int(rng.integers(1, 7))
        root = build_tree(View(games, params.me), params, Weights(), depth, top)
        exact = Minimax(games, params, Weights()).scores(depth)
        assert {child.move: child.score for child in root.children} == {
            move: value for move, value in enumerate(exact) if value is not None
        }, draw(games)
        for node in root.walk():
            if node.children:
                assert node.score == (max if node.hero == params.me else min)(child.score for child in node.children)


def test_it_agrees_with_the_search() -> None:
    for seed in range(3):
        games = generate(seed, size=10).new_game()
        for move in np.random.default_rng(seed).integers(0, 5, 121 + seed).tolist():
            step(games, 0, move)
        params = params_of(games, seed, 500)
        root = build_tree(View(games, params.me), params, Weights(), 7, 4)
        found = list(
            iterative_deepening(
                games, map_of(games), params, Weights(), depths=range(1, 8), nodes=1 << 60, stop=np.zeros(1, np.int64)
            )
        )[-1]
        best = found.scores[found.best]
        assert best is not None
        assert root.score == best
        for child in root.children:
            assert child.move is not None
            wanted = found.scores[child.move]
            assert wanted is not None
            assert max(child.score, best - 500) == max(wanted, best - 500)
        assert [node.number for node in root.walk()] == list(range(1, 1 + len(list(root.walk()))))
        line = [node.move for node in root.walk() if node.expected][1:]
        assert len(line) == 4


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    games = generate(4, size=10).new_game()
    for move in np.random.default_rng(4).integers(0, 5, 80).tolist():
        step(games, 0, move)
    trait = TraitHeader(label="fight", weight=1, use="search", parameters={"mode": "best-reply", "contact": 30, "searched": 3})
    with Recorder(tmp_path, HEADER.model_copy(update={"bot": 'the "quoted"', "traits": (trait,)})) as recorder:
        recorder.turn(raw(games), BALLOT)
    assert recorder.path is not None
    return recorder.path


def test_the_command_prints_and_draws_the_tree(recording: Path, tmp_path: Path) -> None:
    drawing = tmp_path / "tree.dot"
    done = printed("tree", str(recording), "--turn", "80", "--depth", "6", "--top", "6", "--dot", str(drawing))
    assert "best-reply against @2 and @3 and @4, 6 plies deep" in done
    assert "1* " in done
    lines = drawing.read_text().splitlines()
    nodes = [line for line in lines if re.match(r"  n\d+ \[", line)]
    edges = [line for line in lines if re.match(r"  n\d+ -> n\d+ ", line)]
    assert len(nodes) == len(edges) + 1 > 10
    assert lines[:2] == ["// made by vindibot tree", "digraph search {"]
    assert lines[-1] == "}"
    assert 'the \\"quoted\\"' in lines[2]


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_it(recording: Path, tmp_path: Path) -> None:
    drawing = tmp_path / "tree.dot"
    CliRunner().invoke(main, ["tree", str(recording), "--turn", "80", "--depth", "6", "--dot", str(drawing)])
    done = subprocess.run(["dot", "-Tsvg", str(drawing)], capture_output=True, text=True, check=True)
    assert "<svg" in done.stdout


def test_a_bot_that_does_not_search_has_no_tree(recording: Path) -> None:
    assert "seed does not search" in printed("tree", str(recording), "--turn", "80", "--bot", "seed", code=2)
