"""Rollout: the policy against its reference, playouts counted by hand, opponent models, and the trait."""

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
from behaviours.net.features import FOUND
from behaviours.net.network import Net, compiled_networks, load_nets, save_nets
from behaviours.net.scoring import net_move
from behaviours.rollout.opponents import count_hits, model_opponents
from behaviours.rollout.plans import GOAL_MOVE, plans_of, square_of
from behaviours.rollout.playouts import PLAN_STATS, Batch, play_plans
from behaviours.rollout.policy import GOAL_HERO, GOAL_TAVERN, LIBRARY, NO_GOAL, PolicyParams, compiled_policies, follow
from behaviours.rollout.repetition import no_repeats, no_situations
from behaviours.rollout.trait import Rollout, compare_plans
from sim.board import draw
from sim.game import STAY, TAVERN, Games, mover, row_column
from sim.generator import generate
from sim.maps import map_of
from sim.rules import effective_moves, step
from tests.behaviours.rollout.reference_policy import ReferencePolicy
from tests.support.nets import random_network
from tests.support.positions import dead_ends_of, played_positions, small_positions
from tests.support.reference import reference

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


def random_goal(rng: np.random.Generator, games: Games, hero: int) -> tuple[int, tuple[Any, ...] | None]:
    """Return a goal in reach, as a number and as `ReferencePolicy` has it; often none."""
    tables, where = map_tables_of(map_of(games))[0], map_of(games)
    pos = int(games[0].hero[hero].pos)
    choice = rng.integers(6)
    mines = [int(mine) for mine in tables["nearest"].reshape(1024, -1)[pos] if mine != NO_MINE]
    if choice == 0 and mines:
        mine = int(rng.choice(mines))
        return mine, ("mine", row_column(int(tables["mine"][mine])))
    if choice == 1 and tables["to_tavern"][pos] < 255:
        return GOAL_TAVERN, ("tavern",)
    others = [other for other in range(4) if other != hero and where.distances[pos][int(games[0].hero[other].pos)] < 255]
    if choice == 2 and others:
        enemy = int(rng.choice(others))
        return GOAL_HERO + enemy, ("hero", enemy)
    return NO_GOAL, None


@pytest.mark.slow
@pytest.mark.parametrize("positions", [small_positions(5, 400), played_positions(5, 15)], ids=["small", "played"])
def test_the_policy_equals_its_reference(positions: Iterator[Games]) -> None:
    rng = np.random.default_rng(7)
    moves: set[int] = set()
    for games in positions:
        hero, before = mover(games), games.copy()
        for _ in range(3):
            params, (number, goal) = random_policy(rng), random_goal(rng, games, hero)
            move = follow(games, 0, hero, map_tables_of(map_of(games)), WEIGHTS, compiled_policies((params,)), 0, number)
            assert move == ReferencePolicy(reference(games), hero, params, goal, dead_ends_of(games)).move(), (
                f"{params} {goal}\n{draw(games)}"
            )
            moves.add(move)
        assert games.tobytes() == before.tobytes()
    assert moves == {0, 1, 2, 3, 4}


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


def move_by_net(games: Games, hero: int, path: str) -> int:
    """Return the move of a hero by the first net of a file."""
    networks, scores = compiled_networks([load_nets(Path(path))[0].policy]), np.zeros(5, np.int64)
    return net_move(networks, 0, games, 0, hero, map_tables_of(map_of(games)), np.zeros(1, FOUND), scores)


def by_hand(games: Games, plan: list[int], trait: Rollout, discount: float) -> tuple[float, int]:
    """Return the outcome and the first move of one playout, step by step in Python."""
    games, me = games.copy(), mover(games)
    tables, policies = map_tables_of(map_of(games)), compiled_policies((trait.params, LIBRARY[3]))
    plan, spent, first = [goal for goal in plan if goal != NO_GOAL], 0, -1
    rounds: list[float] = []
    penalty, rounds_left = 0.0, len(range(int(games[0].turn), int(games[0].max_turns), 4))

    def position_value() -> float:
        weights, heroes = trait.weights, games[0].hero
        values = []
        for hero in range(4):
            left = len(range(int(games[0].turn) + (hero - int(games[0].turn)) % 4, int(games[0].max_turns), 4))
            income = weights.keep * (1 - np.exp(-left / weights.keep))
            life = int(heroes[hero].life)
            vigour = weights.life * (1 - np.exp(-life / weights.life_curve)) / (1 - np.exp(-100 / weights.life_curve))
            safe = 1 - weights.frailty * np.exp(-life / weights.frail)
            values.append(heroes[hero].gold + heroes[hero].mines * income * safe + vigour * min(1, left / weights.life_season))
        others = [one for hero, one in enumerate(values) if hero != me]
        lead, scale = values[me] - max(others), max(1.0, trait.lead_scale * rounds_left)
        utility = trait.lead_weight * scale * np.arcsinh(lead / scale) if rounds_left <= trait.lead_rounds else 0
        return float(values[me] - weights.rivals * sum(others) / 3 - weights.leader * max(others) + utility)

    for ply in range(4 * trait.rounds):
        if games[0].status:
            break
        hero, pos, life = mover(games), int(games[0].hero[mover(games)].pos), int(games[0].hero[me].life)
        drinks, before, mines = False, position_value(), int(games[0].hero[me].mines)
        if hero == me:
            if ply:
                rounds.append(before)
            while plan and plan[0] < GOAL_MOVE:
                mine = int(tables[0]["mine"][plan[0]]) if plan[0] < GOAL_TAVERN else 0
                beside = mine and abs(mine - pos) in (1, 32)
                if spent <= (12 if plan[0] >= GOAL_HERO else 40) and not (
                    mine and (int(games[0].cell[mine]) & 15 == 4 + me or (beside and life <= 20))
                ):
                    break
                plan, spent = plan[1:], 0
            goal = plan[0] if plan else NO_GOAL
            if goal == NO_GOAL and trait.net is not None:
                move = move_by_net(games, me, trait.net)
            else:
                move = goal - GOAL_MOVE if goal >= GOAL_MOVE else follow(games, 0, me, tables, WEIGHTS, policies, 0, goal)
            spent += 1
            target = pos + [0, -32, 32, 1, -1][move]
            drinks = int(games[0].cell[target]) & 15 == TAVERN
            if goal >= GOAL_MOVE or (goal == GOAL_TAVERN and drinks):
                plan, spent = plan[1:], 0
            first = move if first < 0 else first
        else:
            move = follow(games, 0, hero, tables, WEIGHTS, policies, 1, NO_GOAL)
        takes = int(games[0].cell[pos + [0, -32, 32, 1, -1][move]]) & 15 > TAVERN
        step(games, 0, move)
        if hero == me and ply and not takes and games[0].hero[me].mines > mines:
            penalty += discount ** len(rounds) * trait.late_kill_penalty * (position_value() - before)
        penalty += trait.death * (int(games[0].hero[me].life) > life and not drinks)
    shares = [(1 - discount) * discount**number for number in range(len(rounds))]
    end = position_value() * (1 - sum(shares))
    return sum(share * value for share, value in zip(shares, rounds, strict=True)) + end - penalty, first


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_playouts_equal_those_played_by_hand(seed: int, tmp_path: Path) -> None:
    """In every third of them our hero follows a net after its goals."""
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
    trait, plans = Rollout(**given), plans_of(View(games, mover(games)), 4)
    stats = played_out(games, plans, 0, 1, **given)
    for plan, stat in zip(plans.tolist(), stats, strict=True):
        outcome, first = by_hand(games, plan, trait, 0.8)
        assert stat["first"] == first
        assert stat["count"] == 1
        assert stat["total"] == pytest.approx(outcome, abs=1e-6)


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
