"""Every trait of ours passes the conformance suite, and more of it than the suite asks."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings

from behaviours import Behaviour, Budget, View
from behaviours.registry import BUILT_IN, find
from sim.board import parse
from sim.game import Games, mover
from sim.generator import generate
from sim.rules import step
from tests.support.oracle import read_games, states_of
from tests.support.paths import TESTS, TOP
from tests.support.worlds import ORACLE, SAMPLE, odd_games
from vindibot.devtools.conformance import ODD_BOARDS
from vindibot.testing import check_trait, check_turn, votes

#: A file of nets that the library holds: the models of two versions.
NETS = str(TOP / "config" / "bots" / "versions" / "models.npz")
#: Every built-in trait with its defaults, and in its later version where there is one.
TRAITS = [find(name)(**({"net": NETS} if name == "learned" else {})) for name in sorted(BUILT_IN)] + [
    find("combat")(duel=True, keep_mines=True),
    find("tavern-finder")(beer_push=10, beer_life=75, avoid_danger=True, every_step=True, life_threshold=100),
    find("mine-finder")(life_threshold=0, when_broke=False),
    find("harvest")(nodes=100, when_broke=False),
]
#: Nodes for each turn on which a trait is asked: as plain Python kernels are some thousand times slower.
NODES = 40 if os.environ.get("NUMBA_DISABLE_JIT") else 500


def named(trait: Behaviour) -> str:
    """A trait for the names of tests: its class, and of its fields those that were given."""
    return f"{type(trait).__name__}({', '.join(f'{name}={getattr(trait, name)!r}' for name in sorted(trait.model_fields_set))})"


def conforms(trait: Behaviour, games: Games, me: int) -> None:
    """Ask a trait, and check what holds for every answer of every trait; ours vote for candidates alone besides."""
    said = check_turn(trait, games, me, nodes=NODES)
    if said is not None:
        candidates = View(games, me).moves
        assert all(said[direction] == 0 for direction in range(5) if direction not in candidates), "no candidate"


#: Boards that no game asks a trait about, besides those of the suite.
ENDED_BOARDS = [
    "|@1  []|\n|  @2$1|\n|    $2|\nturn 1200 of 1200 over TurnMax",
    "|@1  []|\n|  @2$1|\n|    $2|\nturn 4 of -4",
]


@pytest.mark.parametrize("trait", TRAITS, ids=named)
def test_every_trait_passes_the_suite(trait: Behaviour) -> None:
    check_trait(trait)


@pytest.mark.parametrize("trait", TRAITS, ids=named)
@pytest.mark.parametrize("board", [*ODD_BOARDS.values(), *ENDED_BOARDS])
def test_every_trait_survives_odd_boards(trait: Behaviour, board: str) -> None:
    conforms(trait, parse(board), 0)


@pytest.mark.slow_long
@given(odd_games())
@settings(max_examples=100)
def test_every_trait_survives_random_boards(games: Games) -> None:
    for trait in TRAITS:
        conforms(trait, games, mover(games))


@pytest.mark.timeout(400)
@pytest.mark.parametrize("share", [10, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "more"])
@pytest.mark.parametrize("name", ["odd", "scenario", "generated"])
def test_every_trait_survives_recorded_games(name: str, share: int) -> None:
    path = ORACLE / f"{name}.jsonl.gz"
    if not path.exists():
        path = SAMPLE
    if not path.exists():
        pytest.skip(f"no recorded games at {ORACLE} or {SAMPLE}")
    states = 0
    every = {"odd": 5, "scenario": 13, "generated": 61 if path != SAMPLE else 31}[name]
    for game in read_games(path):
        board = game["init"]["board"]
        for games in islice(states_of(game) if len(board["tiles"]) == 2 * board["size"] ** 2 else (), 0, None, every * share):
            states += 1
            for trait in TRAITS:
                conforms(trait, games, mover(games))
    assert states > 100 / share


@pytest.mark.parametrize("trait", TRAITS, ids=named)
def test_a_trait_can_be_asked_in_several_threads_at_once(trait: Behaviour) -> None:
    """Several games in threads of one process share nothing that is written to."""
    views = []
    for seed in range(16):
        games = generate(seed, size=18).new_game()
        for move in np.random.default_rng(seed).integers(0, 5, 200).tolist():
            step(games, 0, move)
        views.append(games)

    def ask(games: Games) -> list[float] | None:
        said = votes(trait, View(games, mover(games), budget=Budget(nodes=20_000), seed=1))
        return None if said is None else said.tolist()

    alone = [ask(games) for games in views]
    with ThreadPoolExecutor(4) as threads:
        for together in [list(threads.map(ask, views)) for _ in range(5)]:
            assert together == alone


@pytest.mark.slow_long
def test_kernels_do_the_same_without_the_compiler() -> None:
    """The interpreter sees what compiled code hides: types that wrap around, names that mean something else in numpy."""
    chosen = "odd_boards or equals_its_de"
    command = [sys.executable, "-m", "pytest", "-x", "-W", "ignore:overflow encountered:RuntimeWarning", "-k", chosen]
    done = subprocess.run(
        [*command, str(TESTS / "behaviours")],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
