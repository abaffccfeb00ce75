"""Route: the best route over mines and taverns, against brute force; and the votes of the trait."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from behaviours import Budget, SearchInfo, View
from behaviours.tactics.route import Route, RouteParams, RoutePlan, plan_routes
from sim.board import parse
from sim.game import AIR, MINE, OFFSET, STAY, TAVERN, TILE_BITS, WALL, Games, mover, row_column
from sim.generator import generate
from sim.maps import map_of
from sim.rules import step
from tests.support.worlds import odd_games
from vindibot.testing import view, votes

RUNS_ON = np.zeros(1, np.int64)
#: All that the model has apart from the rules switched off.
PLAIN = Route(rival=0, late=1)


def all_plans(here: View, trait: Route = PLAIN, nodes: int = 1_000_000) -> list[RoutePlan]:
    return list(plan_routes(trait.params(here), nodes, 1e6, RUNS_ON))


def best_plan(board: str, trait: Route = PLAIN) -> RoutePlan:
    """Return the best plan of the hero to move, which must be complete."""
    found = all_plans(view(board), trait)[-1]
    assert found.complete
    return found


def waypoints(board: str, trait: Route = PLAIN) -> list[tuple[int, int] | str]:
    """Return the waypoints of the best plan with what its direction takes: mines as (row, column), and beers."""
    here, plan = view(board), best_plan(board, trait)
    mines = trait.params(here).mines
    found: list[tuple[int, int] | str] = [row_column(int(mines[mine])) if mine >= 0 else "beer" for mine in plan.waypoints]
    beside = here.pos + int(OFFSET[plan.direction])
    tile = int(here.cells[beside]) & TILE_BITS
    if tile < TAVERN:
        return found
    return ["beer" if tile == TAVERN else row_column(beside), *found]


# ---- Against brute force ----


class Oracle:
    """The value of every direction by brute force: it tries every sequence of moves and knows no waypoints."""

    def __init__(self, here: View, params: RouteParams) -> None:
        self.params, self.here = params, here
        self.cells = [int(cell) & TILE_BITS for cell in here.map.cells]
        self.number = {int(mine): number for number, mine in enumerate(params.mines)}
        self.plies = params.plies
        self.best = lru_cache(maxsize=None)(self._best)
        #: The start, if the hero could drink there at once and the beer heals nothing. It does not wait for thirst.
        self.sated_at = -1

    def value_of(self, mine: int, ply: int) -> float:
        late = self.params.late if ply > self.params.deadlines[mine] else 1.0
        return float(self.params.weights[mine] * late * (self.plies - ply + 1))

    def _best(self, square: int, life: int, gold: int, ply: int, owned: int, taken: int, before: bool, may_end: bool) -> float:
        """Return the gold that can still be won after `ply` plies, `before` the first waypoint or after it."""
        found = 0.0 if may_end else -1e9
        if ply == self.plies:
            return found
        for offset in OFFSET.tolist():
            there = square + offset
            tile, thirsty = self.cells[there], max(1, life - 1)
            if offset == 0 or (tile == AIR and not (before and self.params.blocked[there])):
                found = max(found, self.best(there, thirsty, gold + owned, ply + 1, owned, taken, before, False))
            elif tile == TAVERN and gold >= 2 and life < 99 and not (before and square == self.sated_at):
                drunk = min(100, life + 50) - 1
                after = self.best(square, drunk, gold - 2 + owned, ply + 1, owned, taken, False, False)
                found = max(found, after - 2)
            elif there in self.number and not taken >> self.number[there] & 1 and life > 20:
                mine = self.number[there]
                if self.value_of(mine, ply + 1) <= 0:
                    continue  # a mine without value is no way through
                after = self.best(square, max(1, life - 21), gold + owned + 1, ply + 1, owned + 1, taken | 1 << mine, False, True)
                found = max(found, after + self.value_of(mine, ply + 1))
        return found

    def value(self, move: int) -> float:
        """Return the value of a direction."""
        before, game = self.here.hero, self.params.afters[move]
        hero = game["hero"][self.here.me]
        mine = MINE + 1 + self.here.me
        gained = [number for place, number in self.number.items() if game["cell"][place] & TILE_BITS == mine]
        lost = int(before.mines) + len(gained) - int(hero["mines"])
        now = sum(self.value_of(number, 1) for number in gained) - lost * self.plies
        now += int(hero["gold"]) - int(before.gold) - int(hero["mines"])
        taken = sum(1 << number for number in gained)
        place, life, gold, owned = (int(hero[name]) for name in ("pos", "life", "gold", "mines"))
        self.sated_at = place if life >= 99 and gold >= 2 else -1
        self.best.cache_clear()
        return now + self.best(place, life, gold, 1, owned, taken, True, True)


@given(odd_games(), st.integers(1, 9), st.data())
@settings(max_examples=60)
def test_it_equals_brute_force(games: Games, plies: int, data: st.DataObject) -> None:
    me = mover(games)
    games[0]["max_turns"] = int(games[0]["turn"]) + 4 * plies
    for mine in map_of(games).mines[data.draw(st.integers(1, 5)) :]:
        if int(games[0]["cell"][mine]) == MINE:
            games[0]["cell"][mine] = WALL
    trait = data.draw(st.sampled_from([PLAIN, Route(late=0.5, rival=0.5), Route(late=0)]))
    assert_equals_brute_force(View(games, me), trait)


def assert_equals_brute_force(here: View, trait: Route) -> None:
    params, plan = trait.params(here), all_plans(here, trait)[-1]
    assert plan.complete
    oracle = Oracle(here, params)
    for move in here.moves:
        tile = int(params.afters[move]["cell"][here.landing(move)]) & TILE_BITS
        if tile != AIR or not params.directions >> move & 1:
            continue  # an odd spawn inside a wall has no ways
        assert plan.values[move] == pytest.approx(oracle.value(move), abs=1e-6), move


def test_a_beer_that_heals_nothing_does_not_free_the_way() -> None:
    """Squares are blocked until the first waypoint. A beer is one, but a hero does not wait until it heals something."""
    board = """
        |@3@4      |
        |        @2|
        |      []@1|
        |      $-  |
        |        ##|
        turn 0 of 24
        @1 life {} gold 2
        @2 life 99
        @3 life 1
        @4 life 1
    """
    for life, gold in ((100, 0), (99, 1)):
        here = view(board.format(life))
        assert all_plans(here)[-1].values[STAY] == gold
        assert_equals_brute_force(here, PLAIN)


# ---- Routes ----


def test_the_mines_of_enemies_count_more_and_those_that_they_reach_first_less() -> None:
    board = (
        """
        |$2      @1      $-|
        |##################|
        |##########      @2|
    """
        + "        |##################|\n" * 6
    )
    assert waypoints(board, Route(rival=0.5))[0] == (0, 0)
    assert waypoints(board.replace("$2", "$-").replace("$-|", "$2|"), Route(rival=0.5))[0] == (0, 8)
    contested = (
        """
        |$-      @1      $-@2|
        |####################|
    """
        + "        |####################|\n" * 8
    )
    assert waypoints(contested, Route(late=0.5))[0] == (0, 0)
    assert waypoints(contested, Route(late=0)) == [(0, 0)]
    # A hero too weak to take it is no rival.
    assert len(waypoints(contested + "@2 life 20", Route(late=0))) == 2


def test_more_budget_is_never_worse() -> None:
    for seed in range(6):
        games = generate(seed, size=20, walls=25, mines=5).new_game()
        for move in np.random.default_rng(seed).integers(0, 5, 200).tolist():
            step(games, 0, move)
        here = View(games, mover(games))
        bests = [max(all_plans(here, nodes=nodes)[-1].values) for nodes in (0, 300, 3000, 30000)]
        assert all(before <= after for before, after in pairwise(bests))
        within = [max(plan.values) for plan in all_plans(here, nodes=10000)]
        assert all(before <= after for before, after in pairwise(within))


# ---- Budgets ----


def test_the_stop_word_ends_it() -> None:
    games = generate(3, size=28, walls=20, mines=9).new_game()
    stopped = np.ones(1, np.int64)
    infos = list(Route().vote(View(games, 0, budget=Budget(None, stopped))))
    assert len(infos) == 1
    assert isinstance(infos[0], SearchInfo)
    few = list(Route(nodes=1_000_000).vote(View(games, 0, budget=Budget(500))))[-1]
    assert few is not None
    assert few.nodes is not None
    assert few.nodes < 1500


# ---- Votes ----


def test_votes_are_differences_in_gold() -> None:
    here = view("|$-@1  |\n|      |\n|      |\nturn 1160 of 1200")
    # Taken now, the mine pays in 10 rounds; a step away and back costs two of them, staying one.
    found = votes(Route(scale=4), here)
    assert found is not None
    assert found.tolist() == pytest.approx([-0.25, 0, -0.5, -0.5, 0])
    assert votes(Route(scale=1), here).tolist() == pytest.approx([-1, 0, -1, -1, 0])
    info = list(Route().vote(here))[-1]
    assert info is not None
    assert (info.score, info.goal) == (10, here.map.mines[0])


def test_with_nothing_to_take_all_moves_are_equal() -> None:
    assert votes(Route(), view("|  @1|\n|    |")).tolist() == [0] * 5
    assert votes(Route(), View(parse("|@1$-|\n|    |\nturn 1200 of 1200 over TurnMax"), 0)) is None
