"""Learned policies: the features of moves against a second implementation, the choice of a move, and the texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from behaviours import Budget, View
from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.rollout import Rollout
from behaviours.rollout.learned import MAX_SCORE, SCORE_UNIT, scores_of, scores_text
from behaviours.net.move_features import (
    DRINKS,
    FEATURES,
    SLOTS,
    STAYS,
    STEPS,
    TAKES,
    features_of_moves,
    kind_of,
)
from behaviours.rollout.opponents import model_opponents
from behaviours.rollout.policy import NO_GOAL, follow
from behaviours.rollout.policy_params import LIBRARY, PolicyParams, compiled_policies
from sim.board import draw
from sim.game import MINE, OFFSET, TAVERN, TILE_BITS, Games, mover
from sim.generator import generate
from sim.maps import map_of
from sim.rules import effective_moves, step
from tests.support.positions import played_positions, small_positions

WEIGHTS = compiled_weights(Weights())


def features_in(games: Games) -> np.ndarray:
    found = np.zeros((5, SLOTS), np.int16)
    features_of_moves(games, map_tables_of(map_of(games)), mover(games), found)
    return found


def facts(games: Games, move: int) -> tuple[object, ...]:
    """Return what the features of a move of the hero to move depend on, slot by slot, computed in Python."""
    me, where = mover(games), map_of(games)
    heroes, cells = games[0].hero, games[0].cell
    own, distances = heroes[me], where.distances
    target = int(own.pos) + int(OFFSET[move])
    tile = int(cells[target]) & TILE_BITS if move else 0
    kind = STAYS if not move else {0: STEPS, TAVERN: DRINKS}.get(tile, TAKES)
    square = target if kind == STEPS else int(own.pos)
    life, pays = int(own.life), bool(own.gold >= 2)
    then = {DRINKS: min(100, life + 50), TAKES: life - 20}.get(kind, life)
    tenth = min(life // 10, 9)

    def wealth(mines: int) -> int:
        return (mines > 0) + (mines > 2)

    def near(squares: list[int]) -> int:
        return min((int(distances[square][each]) for each in squares), default=999)

    def binned(distance: int, ends: list[int]) -> int:
        return sum(distance > end for end in ends)

    owner = tile - MINE - 1
    takes = None if kind != TAKES else (0 if owner < 0 else (2 if owner < 4 and heroes[owner].mines > own.mines else 1))
    foreign = [int(mine) for mine in where.mines if int(cells[mine]) & TILE_BITS != MINE + 1 + me]
    mine_away = 0 if kind == TAKES else near(foreign)
    tavern_away = 0 if kind == DRINKS else near([int(tavern) for tavern in where.taverns])
    beside = pays and near([int(tavern) for tavern in where.taverns]) == 1
    fights: list[tuple[object, ...] | None] = []
    guards: list[tuple[object, ...] | None] = []
    kills: list[int] = []
    killed, close = 0, False
    for index in range(1, 4):
        other = heroes[(me + index) % 4]
        away = int(distances[square][int(other.pos)])
        if other.crashed or not 1 <= away <= 8:
            fights.append(None)
            guards.append(None)
            continue
        close = close or away <= 3
        blows = -(-max(then, 1) // 20) - -(-int(other.life) // 20)
        fight = binned(away, [1, 2, 3, 5]), min(max(blows, -2), 2)
        taverns = [int(distances[int(other.pos)][int(tavern)]) for tavern in where.taverns]
        guarded = bool(other.gold >= 2) and min(taverns, default=999) == 1
        fights.append((*fight, wealth(int(other.mines)), wealth(int(own.mines))))
        guards.append((*fight, guarded, beside))
        if away == 1 and other.life <= 20:
            kills.append(wealth(int(other.mines)))
        elif away <= 2 and then <= 20:
            killed = max(killed, 3 - away)
    last = int(own.last_dir)
    back = {1: 2, 2: 1, 3: 4, 4: 3}
    if last < 0:
        turn = None
    elif last == 0 or move == 0:
        turn = "stay" if last == move else "stay once"
    else:
        turn = "same" if last == move else ("back" if back[last] == move else None)
    depth = int(where.dead_end[square])
    return (
        (kind, tenth),
        takes,
        (binned(mine_away, [0, 1, 2, 3, 4, 6, 9]), min(4, max(0, life - 1) // 20)),
        (binned(tavern_away, [0, 1, 2, 3, 5, 8]), tenth, pays),
        *fights,
        *guards,
        max(kills, default=None),
        killed,
        turn,
        (min(depth, 3), close),
        (beside, close) if kind == STAYS else None,
    )


@pytest.mark.parametrize("positions", [small_positions(5, 600), played_positions(5, 15)], ids=["small", "played"])
def test_features_say_the_same_as_a_second_implementation(positions: Iterator[Games]) -> None:
    """Per slot, equal facts must give equal features, and different facts different ones."""
    meaning: dict[int, tuple[int, object]] = {}
    feature: dict[tuple[int, object], int] = {}
    for games in positions:
        found, legal = features_in(games), effective_moves(games, 0, mover(games))
        for move in range(5):
            assert (found[move, 0] >= 0) == (move == 0 or bool(legal >> move & 1)), draw(games)
            if found[move, 0] < 0:
                continue
            for slot, fact in enumerate(facts(games, move)):
                number = int(found[move, slot])
                assert 0 <= number < FEATURES
                if fact is None:
                    assert number == 0, f"slot {slot}, move {move}\n{draw(games)}"
                    continue
                place = 4 if 4 <= slot <= 6 else (7 if 7 <= slot <= 9 else slot)
                assert meaning.setdefault(number, (place, fact)) == (place, fact), f"slot {slot}, move {move}\n{draw(games)}"
                assert feature.setdefault((place, fact), number) == number, f"slot {slot}, move {move}\n{draw(games)}"
    assert len(meaning) > 250


def test_the_policy_makes_the_move_with_the_largest_score() -> None:
    rng, moves = np.random.default_rng(3), set()
    for games in small_positions(8, 200):
        scores = rng.normal(0, 2, FEATURES)
        text, found = scores_text(scores), features_in(games)
        policies = compiled_policies((PolicyParams(),), (text,))
        sums = np.where(found[:, 0] >= 0, scores_of(text).astype(int)[np.maximum(found, 0)].sum(axis=1), -(10**6))
        move = follow(games, 0, mover(games), map_tables_of(map_of(games)), WEIGHTS, policies, 1, NO_GOAL)
        assert move == (0 if games[0].hero[mover(games)].crashed else sums.argmax()), draw(games)
        moves.add(move)
    assert moves == {0, 1, 2, 3, 4}


@given(st.lists(st.floats(-20, 20), min_size=FEATURES, max_size=FEATURES))
def test_a_text_keeps_the_scores(values: list[float]) -> None:
    scores = np.array(values)
    kept = scores_of(scores_text(scores)) / SCORE_UNIT
    assert kept[0] == 0
    assert np.abs(kept - np.clip(scores, -MAX_SCORE, MAX_SCORE))[1:].max() <= 0.5 / SCORE_UNIT + 1e-9


@pytest.mark.parametrize(("text", "message"), [("?", "base64"), ("AAAA", f"{FEATURES} bytes")])
def test_a_faulty_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Rollout(learned=(text,))


def test_a_rival_that_moves_by_a_learned_policy_is_recognised() -> None:
    """A rival whose moves a learned policy predicts gets this policy in most scenarios."""
    scores = np.zeros(FEATURES)
    scores[1:41] = np.repeat([0.0, 1.0, 4.0, -3.0], 10)  # it likes mines and steps, and never drinks
    trait = Rollout(learned=(scores_text(scores),))
    policies, number = trait.policies(), 1 + len(LIBRARY)
    games = generate(11, size=12).new_game()
    tables, seen = map_tables_of(map_of(games)), []
    for _ in range(100):
        if mover(games) == 0:
            seen.append(games.copy())
        index = number if mover(games) == 2 else 1
        step(games, 0, follow(games, 0, mover(games), tables, WEIGHTS, policies, index, NO_GOAL))
    view = View(seen[-1], 0, recent=np.concatenate(seen[:-1][-24:]), budget=Budget(nodes=1000))
    draws, *_ = model_opponents(view, WEIGHTS, policies, trait.likelihood_weight)
    assert (draws[2] == number).mean() > 0.5
    assert (draws[1] == number).mean() < 0.5


def test_kinds_of_moves() -> None:
    kinds = {kind_of(int(one)) for games in played_positions(5, 5) for one in features_in(games)[:, 0] if one >= 0}
    assert kinds == {STAYS, STEPS, TAKES, DRINKS}
