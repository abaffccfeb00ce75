"""The search finds the scores of plain minimax in every mode, on thousands of small positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from behaviours.common.evaluation import NetWorthWeights, Weights, compiled_weights, score
from behaviours.common.map_tables import map_tables_of
from behaviours.common.policy import policy
from behaviours.search.deepening import IterationResult, SearchParams, Workspace, iterative_deepening
from behaviours.search.engine import search_below
from behaviours.search.records import BEST_REPLY, INFINITE, PARANOID
from behaviours.search.trait import MODES, active_enemies
from sim.board import draw, parse
from sim.game import STAY, Games, mover
from sim.generator import generate
from sim.maps import map_of
from sim.rules import step
from tests.support.minimax import Line, Minimax
from tests.support.placements import random_position
from tests.support.positions import enemies
from tests.support.worlds import odd_games

#: A distance below the best score so large that all scores are exact.
WHOLE = INFINITE >> 1
UNLIMITED = 1 << 60


def net_worth_only() -> Weights:
    """Return weights with which only net worths count: the scores of the four heroes add up to 0."""
    fields = Weights.model_json_schema()["properties"]
    off = {name: 0 for name in fields if name not in NetWorthWeights.model_fields and fields[name]["minimum"] == 0}
    return Weights(**{**off, "rivals": 1, "leader": 0})


def search(
    games: Games, params: SearchParams, depth: int, weights: Weights, *, nodes: int = UNLIMITED, stop: bool = False
) -> list[IterationResult]:
    """Return the results of the search at each depth up to `depth`."""
    word = np.full(1, stop, np.int64)
    found = iterative_deepening(games, map_of(games), params, weights, depths=range(1, depth + 1), nodes=nodes, stop=word)
    return list(found)


def random_params(rng: np.random.Generator, games: Games, mode: int) -> SearchParams:
    active = enemies(games) & int(rng.integers(0, 16)) if rng.random() < 0.5 else enemies(games)
    return SearchParams(
        me=mover(games),
        active=active,
        mode=mode,
        quiescence=int(rng.integers(0, 4)),
        clip=WHOLE,
        table=bool(rng.random() < 0.8),
        death=int(rng.choice([0, 3000])),
    )


def agrees(games: Games, params: SearchParams, depth: int, weights: Weights) -> None:
    """Assert that the search's scores at every depth are those of minimax."""
    plain = Minimax(games, params, weights)
    for found in search(games, params, depth, weights):
        assert list(found.scores) == plain.scores(found.depth), f"depth {found.depth}, {params}\n{draw(games)}"


# ---- Minimax ----


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_it_finds_what_minimax_finds(mode: int) -> None:
    rng = np.random.default_rng(mode)
    weights = [Weights(), Weights(reach=1, danger=1, prey=1, loss=0.5, spawn=5, dead_end=3), net_worth_only()]
    for _ in range(200):
        games = random_position(rng)
        params = random_params(rng, games, mode)
        depth = int(rng.integers(1, 9 - params.active.bit_count() * (2 - (mode != PARANOID))))
        agrees(games, params, depth, weights[int(rng.integers(3))])


@pytest.mark.slow
@given(odd_games())
@settings(max_examples=100, deadline=None)
def test_it_finds_what_minimax_finds_on_odd_boards(games: Games) -> None:
    if games[0]["max_turns"] > games[0]["turn"]:
        for mode in MODES.values():
            agrees(games, SearchParams(mover(games), enemies(games), mode, quiescence=2, clip=WHOLE), 3, Weights())


@pytest.mark.slow
def test_scores_far_below_the_best_are_bounds() -> None:
    rng = np.random.default_rng(7)
    below = 0
    for _ in range(300):
        games = random_position(rng)
        params = replace(random_params(rng, games, int(rng.integers(3))), clip=int(rng.integers(1, 400)))
        plain = Minimax(games, params, Weights())
        for found in search(games, params, 3, Weights()):
            exact = plain.scores(found.depth)
            best = max(value for value in exact if value is not None)
            assert found.scores[found.best] == best
            for value, wanted in zip(found.scores, exact, strict=True):
                if wanted is None or value is None or wanted > best - params.clip:
                    assert value == wanted
                else:
                    assert wanted <= value <= best - params.clip
                    below += 1
    assert below > 100


# ---- The table ----


def middle_games(count: int) -> Iterator[Games]:
    """Yield generated maps some way into a game of random moves, our hero hurt."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        games = generate(seed, size=10).new_game()
        for move in rng.integers(0, 5, int(rng.integers(0, 200))).tolist():
            step(games, 0, move)
        games[0]["hero"]["life"] = rng.integers(15, 100, 4)
        yield games


def test_the_table_changes_the_work_and_nothing_else() -> None:
    nodes = {True: 0, False: 0}
    for number, games in enumerate(middle_games(24)):
        active = enemies(games) & [0b0011, 0b0101, 0b1111][number % 3]
        params = SearchParams(mover(games), active, number % 3, clip=2000)
        reported = []
        for table in (True, False):
            found = search(games, replace(params, table=table), 7 if active.bit_count() > 1 else 10, Weights())
            nodes[table] += found[-1].nodes
            best = [max(value for value in depth.scores if value is not None) for depth in found]
            scores = [
                [value and max(value, top - 2000) for value in depth.scores] for depth, top in zip(found, best, strict=True)
            ]
            reported.append(scores)
        assert reported[0] == reported[1], draw(games)
    assert nodes[True] < 0.8 * nodes[False]


def test_earlier_searches_leave_nothing_behind() -> None:
    """More searches run than there are ages of table entries."""
    games = next(middle_games(1))
    params = SearchParams(mover(games), enemies(games), PARANOID)
    once = search(games, params, 5, Weights())
    other = random_position(np.random.default_rng(5))
    for _ in range(300):
        search(other, SearchParams(mover(other), enemies(other), PARANOID), 1, Weights())
    assert search(games, params, 5, Weights()) == once
    assert search(games, replace(params, mode=BEST_REPLY), 5, Weights()) != once
    assert search(games, params, 5, Weights()) == once


def test_a_search_leaves_the_game_as_it_was() -> None:
    rng = np.random.default_rng(3)
    work = Workspace()
    for _ in range(200):
        games = random_position(rng)
        params = random_params(rng, games, int(rng.integers(3)))
        work.begin(params)
        work.task["limit"] = int(rng.integers(1, 200))  # most end in the middle
        before = games.tobytes()
        tables = map_tables_of(map_of(games)), compiled_weights(Weights())
        search_below(games, *tables, work.works, np.zeros(1, np.int64), -1, 5, (-INFINITE, INFINITE))
        assert games.tobytes() == before


# ---- The principal variation ----


@pytest.mark.slow
def test_the_principal_variation_leads_to_the_score() -> None:
    rng = np.random.default_rng(13)
    for _ in range(300):
        games = random_position(rng)
        params = replace(random_params(rng, games, int(rng.integers(3))), table=False)
        for found in search(games, params, 5, Weights()):
            line = Line(games)
            died = sum(line.play(move) >> params.me & 1 for move in found.pv)
            assert len(found.pv) >= min(found.depth, int(games[0]["max_turns"]) - int(games[0]["turn"]))
            tables = map_tables_of(map_of(games))
            value = score(line.games, 0, params.me, tables, compiled_weights(Weights())) - died * params.death
            assert value == found.scores[found.best]
            assert found.scores[found.pv[0]] == found.scores[found.best]


# ---- Ending early ----


def test_an_unfinished_depth_has_the_finished_scores() -> None:
    rng = np.random.default_rng(19)
    unfinished = 0
    for _ in range(60):
        games = random_position(rng)
        params = replace(random_params(rng, games, int(rng.integers(3))), table=False)
        whole = search(games, params, 5, Weights())
        for nodes in rng.integers(1, max(2, whole[-1].nodes), 8).tolist():
            part = search(games, params, 5, Weights(), nodes=nodes)
            assert [depth for depth in part if depth.whole] == whole[: sum(depth.whole for depth in part)]
            assert all(depth.nodes <= nodes for depth in part)
            unfinished += bool(part and not part[-1].whole)
    assert unfinished > 100


def test_a_set_stop_word_ends_the_search_within_some_hundred_nodes() -> None:
    games = next(middle_games(1))
    params = SearchParams(mover(games), enemies(games), PARANOID)
    found = search(games, params, 30, Weights(), stop=True)
    assert found
    assert found[-1].nodes <= 256
    stop = np.zeros(1, np.int64)
    running = iterative_deepening(games, map_of(games), params, Weights(), depths=range(1, 31), nodes=UNLIMITED, stop=stop)
    before = [next(running) for _ in range(4)]
    stop[0] = 1
    assert all(depth.nodes <= before[-1].nodes + 256 for depth in running)


# ---- Active opponents ----


def test_the_nearest_enemies_that_can_move_are_searched() -> None:
    games = parse("|@1      @2|\n|##    ##  |\n|    @3    |\n|      ##  |\n|$-      @4|\n@2 life 9 crashed")
    where = map_of(games)
    assert active_enemies(games, where, 0, 99, 3) == 0b1100  # @2 never moves
    assert active_enemies(games, where, 0, 99, 1) == 0b0100
    assert active_enemies(games, where, 0, 4, 3) == 0b0100
    assert active_enemies(games, where, 0, 3, 3) == 0
    assert active_enemies(games, where, 3, 4, 3) == 0b0100
    assert policy(games, 0, 1, map_tables_of(where)) == STAY
    assert policy(games, 0, 3, map_tables_of(where)) != STAY
