"""Plans of rivals: likely goals, their share, the budget, and the trait with and without them."""

from __future__ import annotations

import numpy as np
import pytest

from behaviours import Budget, SearchInfo, View
from behaviours.common.map_tables import map_tables_of
from behaviours.rollout import Rollout
from behaviours.rollout.playouts import DRAWS
from behaviours.rollout.policy import GOAL_HERO, NO_GOAL
from sim.board import parse
from sim.generator import generate
from tests.support.positions import played_positions

#: Hero 2 is beside a foreign mine and far from everybody; hero 1 is to move.
BOARD = """
    |@1    ######    $-@2|
    |  []  ######  ####  |
    |    ##########    []|
    |      ##########    |
    |                    |
    |    ##########      |
    |[]  ######    ##  []|
    |$-    ####      ##$-|
    |$-  ##########  ##$-|
    |@3    ######    $-@4|
"""


def goals_of_rivals(view: View, **changes: object) -> np.ndarray:
    return Rollout.model_validate({"rival_plans": 1, **changes}).players(view)[0].goals


def test_the_likely_goal_of_a_rival_is_its_best_plan() -> None:
    """Hero 2 takes the mine beside it; with more heat other plans are likely, too; our hero has no goals."""
    view = View(parse(BOARD), 0)
    goals = goals_of_rivals(view, rival_heat=0.1)
    assert (goals[0] == NO_GOAL).all()
    number = int(np.flatnonzero(map_tables_of(view.map)[0]["mine"] == int(view.game.hero[1].pos) - 1)[0])
    assert set(goals[1].tolist()) <= {number, NO_GOAL}, "its policy without a goal takes this mine, too"
    assert number in goals[1]
    assert len(set(goals_of_rivals(view, rival_heat=1000)[1].tolist())) > 2


@pytest.mark.parametrize("share", [0.25, 0.5, 1])
def test_the_share_of_goals(share: float) -> None:
    """With great heat all plans of a rival are equally likely, and a share of the scenarios has them."""
    for games in played_positions(4, 6):
        view = View(games, int(games[0].turn) % 4)
        if not view.plies_left:
            continue
        whole, part = (goals_of_rivals(view, rival_plans=one, rival_heat=1000) for one in (1, share))
        for rival in view.enemies:
            kinds = len(set(whole[rival].tolist()))
            expected = DRAWS * share * (1 - 1 / kinds)
            assert (part[rival] != NO_GOAL).sum() == pytest.approx(expected, abs=0.1 * DRAWS + kinds)


def test_rivals_without_time_or_nodes_have_no_goals() -> None:
    games = generate(2, size=12).new_game()
    assert (goals_of_rivals(View(games, 0, budget=Budget(nodes=1000))) == NO_GOAL).all()
    stopped = Budget()
    stopped.stop[0] = 1
    assert (goals_of_rivals(View(games, 0, budget=stopped)) == NO_GOAL).all()
    assert (goals_of_rivals(View(games, 0, budget=Budget(nodes=100_000)))[1:] != NO_GOAL).any(axis=1).all()


def test_goals_are_not_goals_of_absent_or_own_heroes() -> None:
    for games in played_positions(7, 6):
        me = int(games[0].turn) % 4
        goals = goals_of_rivals(View(games, me))
        for rival in range(4):
            assert GOAL_HERO + rival not in goals[rival]


def test_the_budget_covers_the_plans_of_rivals() -> None:
    """With plans of rivals, at most as many plies are played as without, apart from the last scenario."""
    view = View(generate(5, size=14).new_game(), 0, budget=Budget(nodes=20_000))
    with_plans, without = (list(Rollout(rival_plans=share).statistics(view, 0))[-1] for share in (1, 0))
    spent = Rollout(rival_plans=1).players(view)[1]
    assert 0 < spent <= 2_000
    assert with_plans[-1, 3].sum() < without[-1, 3].sum()


def test_the_same_position_gives_the_same_votes() -> None:
    trait = Rollout(rival_plans=0.5)

    def votes() -> SearchInfo:
        view = View(generate(6, size=12).new_game(), 0, budget=Budget(nodes=30_000))
        return trait.combine(view, [list(trait.statistics(view, 0))[-1]])

    assert votes() == votes()
