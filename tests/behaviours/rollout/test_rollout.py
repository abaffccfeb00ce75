"""Rollout: what was recorded of the policy and of playouts, opponent models, and the trait."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from behaviours import RECENT_TURNS, Budget, SearchInfo, View
from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import NO_MINE, map_tables_of
from behaviours.net.network import Net, save_nets
from behaviours.rollout.opponents import count_hits, model_opponents
from behaviours.rollout.plans import GOAL_MOVE, plans_of, square_of
from behaviours.rollout.playouts import PLAN_STATS, Batch, play_plans
from behaviours.rollout.policy import GOAL_HERO, GOAL_TAVERN, LIBRARY, NO_GOAL, PolicyParams, compiled_policies, follow
from behaviours.rollout.repetition import no_repeats, no_situations
from behaviours.rollout.trait import Rollout, compare_plans
from sim.game import STAY, Games, mover
from sim.generator import generate
from sim.maps import map_of
from sim.rules import effective_moves, step
from tests.support.nets import random_network
from tests.support.positions import digest, played_positions, small_positions

WEIGHTS = compiled_weights(Weights())


def random_policy(rng: np.random.Generator) -> PolicyParams:
    return PolicyParams(
        reserve=int(rng.integers(0, 30)),
        drink=int(rng.integers(0, 100)),
        thirst=int(rng.integers(0, 101)),
        hunt=int(rng.integers(2, 12)),
        margin=int(rng.integers(-20, 30)),
        greed=int(rng.integers(0, 4)),
        fear=int(rng.integers(0, 3)),
        shy=int(rng.choice([0, 0, 2, 4, 7])),
        freeze=bool(rng.integers(0, 2)),
    )


def random_goal(rng: np.random.Generator, games: Games, hero: int) -> int:
    """Return a goal in reach, often none."""
    tables, where = map_tables_of(map_of(games))[0], map_of(games)
    pos = int(games[0].hero[hero].pos)
    choice = rng.integers(6)
    mines = [int(mine) for mine in tables["nearest"].reshape(1024, -1)[pos] if mine != NO_MINE]
    if choice == 0 and mines:
        return int(rng.choice(mines))
    if choice == 1 and tables["to_tavern"][pos] < 255:
        return GOAL_TAVERN
    others = [other for other in range(4) if other != hero and where.distances[pos][int(games[0].hero[other].pos)] < 255]
    return GOAL_HERO + int(rng.choice(others)) if choice == 2 and others else NO_GOAL


#: Digests of what the kernels computed when they equalled second implementations in Python. A failing test shows the new digest.
MOVES = {
    "small boards": (small_positions(5, 400), "b407dfedf349cef3"),
    "played games": (played_positions(5, 15), "e53a9279a756dff1"),
}
PLAYOUTS = ["60e7aba49c5b3adf", "b11325ed5bbc41d9", "d264befc2b3e83bc"]


@pytest.mark.parametrize(("positions", "recorded"), MOVES.values(), ids=MOVES)
def test_the_policy_plays_the_moves_that_were_recorded(positions: Iterator[Games], recorded: str) -> None:
    rng, moves = np.random.default_rng(7), []
    for games in positions:
        hero, before = mover(games), games.copy()
        for _ in range(3):
            params, goal = random_policy(rng), random_goal(rng, games, hero)
            moves.append(follow(games, 0, hero, map_tables_of(map_of(games)), WEIGHTS, compiled_policies((params,)), 0, goal))
        assert games.tobytes() == before.tobytes()
    assert digest(moves) == recorded
    assert set(moves) == {0, 1, 2, 3, 4}


def games_under_way(seed: int, plies: int, size: int = 12) -> Games:
    """Return a generated game after this number of plies by policies of the library."""
    games = generate(seed, size=size).new_game()
    tables, policies = map_tables_of(map_of(games)), compiled_policies(LIBRARY)
    for _ in range(plies):
        hero = mover(games)
        step(games, 0, follow(games, 0, hero, tables, WEIGHTS, policies, hero, NO_GOAL))
    return games


def played_out(games: Games, plans: NDArray[np.int16], begin: int, end: int, **changes: Any) -> NDArray[np.void]:
    """Return the statistics of all plans, if every rival follows the second of two policies."""
    trait = Rollout(**{"epsilon": 0, **changes})
    view = View(games, mover(games))
    weights, stats = compiled_weights(Weights(**trait.weights.model_dump())), np.zeros(len(plans), PLAN_STATS)
    players = trait.players(view, weights, compiled_policies((trait.params, LIBRARY[3])))
    batch = Batch(plans, np.arange(len(plans)), begin, end, 10**9)
    stop = np.zeros(1, np.int64)
    play_plans(games, map_tables_of(view.map), weights, players, trait._setup(view), batch, stats, stop)
    return stats


@pytest.mark.parametrize(("seed", "recorded"), list(enumerate(PLAYOUTS)))
def test_playouts_have_the_outcomes_that_were_recorded(seed: int, recorded: str, tmp_path: Path) -> None:
    """In the last of them our hero follows a net after its goals."""
    (tmp_path / "net.npz").write_bytes(save_nets([Net(random_network(np.random.default_rng(seed), 16))]))
    games = games_under_way(seed, 4 * 25 * (seed + 1) + seed % 4)
    given: dict[str, Any] = {
        "rounds": 20,
        "round_discount": 0.8,
        "death": 7,
        "late_kill_penalty": 0.3,
        "lead_rounds": 200,
        "lead_weight": 2,
        "lead_scale": 0.1,
        "net": str(tmp_path / "net.npz") if seed % 3 == 2 else None,
    }
    stats = played_out(games, plans_of(View(games, mover(games)), 4), 0, 1, **given)
    assert (stats["count"] == 1).all()
    assert digest([np.rint(1000 * stats["total"]), stats["first"]]) == recorded


def test_scenarios_add_up_and_change_nothing() -> None:
    games = games_under_way(3, 200)
    before, plans = games.copy(), plans_of(View(games, mover(games)), 3)
    whole = played_out(games, plans, 0, 10, epsilon=0.3)
    first, second = played_out(games, plans, 0, 4, epsilon=0.3), played_out(games, plans, 4, 10, epsilon=0.3)
    np.testing.assert_allclose(whole["total"], first["total"] + second["total"])
    assert (whole["count"] == 10).all()
    assert (whole["plies"] == first["plies"] + second["plies"]).all()
    assert games.tobytes() == before.tobytes()
    again = np.repeat(plans[:1], 3, axis=0)  # equal plans meet equal scenarios
    assert len(set(played_out(games, again, 0, 5, epsilon=0.3)["total"].tolist())) == 1


@pytest.mark.parametrize("number", [number for number, params in enumerate(LIBRARY) if not params.repeat_moves])
def test_the_policy_of_a_rival_is_found(number: int) -> None:
    """A rival plays by a policy of the library: this policy predicts all its moves, and most scenarios draw it."""
    games, policies = generate(11, size=12).new_game(), compiled_policies((PolicyParams(), *LIBRARY))
    tables, seen, rng = map_tables_of(map_of(games)), [], np.random.default_rng(1)
    for _ in range(4 * 60):
        hero = mover(games)
        if hero == 0:
            seen.append(games.copy())
        move = int(rng.integers(5)) if hero == 3 else follow(games, 0, hero, tables, WEIGHTS, policies, 1 + number, NO_GOAL)
        step(games, 0, move)
    seen = seen[-RECENT_TURNS - 1 :]
    hits = np.zeros((4, len(policies)), np.int64)
    count_hits(np.concatenate(seen), 0, tables, WEIGHTS, policies, hits, no_repeats(), no_situations())
    assert hits[1, 1 + number] == hits[2, 1 + number] == RECENT_TURNS == max(hits[1])
    assert hits[3].max() < RECENT_TURNS
    assert not hits[0].any()
    view = View(seen[-1], 0, recent=np.concatenate(seen[:-1]))
    drawn, *_ = model_opponents(view, WEIGHTS, policies, 0.7)
    equal = [params for params in range(1, len(policies)) if hits[1, params] >= RECENT_TURNS - 3]
    assert np.isin(drawn[1], equal).mean() > 0.7
    assert set(model_opponents(view, WEIGHTS, policies, 0)[0].ravel().tolist()) == set(range(1, len(policies)))


def test_moves_made_twice_on_a_square_are_repeated_moves() -> None:
    """One rival steps to and fro, one never makes the same move twice: only the first has repeated moves, which predict it."""
    games = generate(11, size=12).new_game()
    policies, tables = compiled_policies((PolicyParams(), PolicyParams(repeat_moves=True))), map_tables_of(map_of(games))
    seen, rng = [], np.random.default_rng(3)
    done: dict[Any, Any] = {}
    for ply in range(4 * 20):
        hero, move = mover(games), STAY
        pos, free = int(games[0].hero[hero].pos), [move for move in View(games, hero).moves if move]
        if hero == 0:
            seen.append(games.copy())
        if hero == 1:
            move = free[0] if ply < 4 else (2, 1, 4, 3)[int(games[0].hero[hero].last_dir) - 1]
        elif hero == 2:
            move = next((move for move in [0, *free] if move != done.get(pos)), STAY)
        elif hero == 3:
            move = int(rng.integers(5))
        done[pos] = move if hero == 2 else done.get(pos, -1)
        step(games, 0, move)
    hits, repeats = np.zeros((4, 2), np.int64), no_repeats()
    count_hits(np.concatenate(seen), 0, tables, WEIGHTS, policies, hits, repeats, no_situations())
    assert hits[1, 1] >= 19 - 4 > hits[1, 0]
    squares = {int(game["hero"]["pos"][0, 1]) for game in seen[1:]}
    assert len(squares) == 2
    assert {int(place) for place in np.flatnonzero((repeats[1] >= 0) & (repeats[1] < 5))} == squares
    assert not ((repeats[2] >= 0) & (repeats[2] < 5)).any()
    assert (repeats[0] < 0).all()


def test_plans_are_compared_in_the_scenarios_that_both_met() -> None:
    """The values of plans are found under a noise by scenario a thousand times as large."""
    rng = np.random.default_rng(2)
    values, stages = rng.normal(size=12), np.zeros((8, 12), PLAN_STATS)
    for stage in range(8):
        chosen = np.arange(12) if stage == 0 else np.append(rng.permutation(11)[:4], 11)
        noise = rng.normal(scale=1000, size=3)
        stages["count"][stage, chosen] = len(noise)
        stages["total"][stage, chosen] = (values[chosen, None] + noise).sum(axis=1)
    gains, sure = compare_plans(stages["total"], stages["count"])
    np.testing.assert_allclose(gains, values - values[11], atol=1e-9)
    playouts = stages["count"].sum(axis=0)
    assert sure.tolist() == [count >= 12 for count in playouts.tolist()]
    assert 0 < sure.sum() < 12


def test_uncontested_mines_are_goals() -> None:
    games = games_under_way(4, 240, size=20)
    view = View(games, mover(games))
    with_them, without = plans_of(view, 2, uncontested_mines=24), plans_of(view, 2, uncontested_mines=0)
    added = {tuple(plan) for plan in with_them.tolist()} - {tuple(plan) for plan in without.tolist()}
    alone = {mine for mine, rest in added if rest == NO_GOAL}
    assert alone
    assert added == {(mine, NO_GOAL) for mine in alone} | {(GOAL_TAVERN, mine) for mine in alone}
    distances = map_tables_of(view.map)[0]["to_mine"].reshape(1024, -1)
    for mine in alone:
        assert all(distances[view.pos, mine] < distances[int(games[0].hero[enemy].pos), mine] for enemy in view.enemies)


def test_missing_rounds_are_skipped() -> None:
    turns = [games_under_way(2, 4 * number) for number in (0, 1, 2, 5, 6)]
    hits = np.zeros((4, 1), np.int64)
    policies = compiled_policies((PolicyParams(),))
    tables = map_tables_of(map_of(turns[0]))
    count_hits(np.concatenate(turns), 0, tables, WEIGHTS, policies, hits, no_repeats(), no_situations())
    assert hits.max() <= 3


def search_infos(trait: Rollout, games: Games, nodes: int, **more: Any) -> list[SearchInfo]:
    return list(trait.vote(View(games, mover(games), budget=Budget(nodes=nodes), **more)))


def test_votes_improve_and_depend_on_the_budget_alone() -> None:
    games = games_under_way(4, 240)
    infos = search_infos(Rollout(), games, 100_000)
    assert infos == search_infos(Rollout(), games.copy(), 100_000, seed=99)
    nodes = [info.nodes or 0 for info in infos]
    assert nodes == sorted(nodes)
    assert nodes[0] == 0
    assert len(infos) > 4
    assert 100_000 <= nodes[-1] < 140_000  # the last scenario is finished
    mask = effective_moves(games, 0, mover(games))
    assert all(set(info.votes) == {move for move in range(5) if mask >> move & 1} for info in infos)


@pytest.mark.parametrize("seed", range(12))
def test_the_vote_for_the_best_direction_is_zero(seed: int) -> None:
    """Also if a plan begins with a move without effect: into a hero, or into a tavern without the gold for a beer."""
    games = games_under_way(seed, 41 * (seed + 1) % 700, size=8)
    games["hero"]["gold"] = seed % 3
    for info in search_infos(Rollout(), games, 5_000):
        assert isinstance(info.votes, dict)
        assert max(info.votes.values()) == 0
        assert min(info.votes.values()) >= -1


def test_the_stop_word_ends_it() -> None:
    games, budget = games_under_way(4, 240), Budget()
    infos = []
    for info in Rollout().vote(View(games, mover(games), budget=budget)):
        infos.append(info)
        if len(infos) == 3:
            budget.stop[0] = 1
    assert len(infos) == 3
    budget.stop[0] = 1
    assert len(list(Rollout().vote(View(games, mover(games), budget=budget)))) == 1  # our policy's move


def test_turns_on_a_square_without_a_gain_are_penalised() -> None:
    """Only turns since the last mine or healing count."""
    games = games_under_way(4, 240)
    me, here = mover(games), games.copy()
    seen = np.concatenate([games] * 6)
    seen["turn"] = 240 - 4 * np.arange(6, 0, -1)
    seen["hero"]["life"][:, me] = int(here["hero"]["life"][0, me]) + np.array([6, 5, 20, 3, 2, 1])  # it drank before the third
    view = View(here, me, recent=seen, budget=Budget(nodes=30_000))
    plain, penalised = (list(Rollout(repetition_penalty=penalty, scale=1000).vote(view))[-1].votes for penalty in (0, 7))
    assert isinstance(plain, dict)
    assert isinstance(penalised, dict)
    values = {move: 1000 * vote - 7 * 5 * (view.landing(move) == view.pos) for move, vote in plain.items()}
    assert penalised == pytest.approx({move: (gold - max(values.values())) / 1000 for move, gold in values.items()})
    assert min(penalised.values()) > -1
    assert penalised != plain


def test_goals_have_squares() -> None:
    games = games_under_way(4, 240)
    view = View(games, mover(games))
    plans = plans_of(view, 24)
    assert len({tuple(plan) for plan in plans.tolist()}) == len(plans)
    for goal in plans[:, 0].tolist():
        square = square_of(view, goal)
        if goal == NO_GOAL or goal >= GOAL_MOVE:
            assert square is None
        elif goal >= GOAL_HERO:
            assert square == int(games[0].hero[goal - GOAL_HERO].pos)
        else:
            assert square in (view.map.taverns if goal == GOAL_TAVERN else view.map.mines)


def test_after_the_end_there_are_no_votes() -> None:
    games = generate(1, size=10).new_game(max_turns=4)
    for _ in range(4):
        step(games, 0, STAY)
    assert list(Rollout().vote(View(games, 0))) == []


def test_the_lead_counts_only_near_the_end() -> None:
    games = games_under_way(4, 240)
    left = View(games, mover(games)).moves_left
    never, not_yet, now = (search_infos(Rollout(lead_rounds=rounds), games, 20_000) for rounds in (0, left - 1, left))
    assert never == not_yet
    assert never[-1] != now[-1]
    assert now[-1] == search_infos(Rollout(lead_rounds=300), games, 20_000)[-1]
