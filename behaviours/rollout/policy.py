"""Following a style: the order that a hero gives who plays by it, and on the way to a goal if he has one.

In this order: he kills who can be killed; beside a tavern he drinks when struck at; he fights duels that he wins, and flees to
a tavern that he can reach from others. If he is shy he keeps away from whoever could do the same to him. Else he goes where he
wants to go, to his goal if he has one, to prey, the nearest mine or a tavern, but not onto a square on which the enemies around
would strike first and win.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.evaluation import WEIGHT_ARRAY
from behaviours.common.kernel_types import GameRecord, MapRecord, WeightsRecord, int64, uintp
from behaviours.common.map_tables import AWAY, GROUNDS, MAX_MINES, NO_MINE
from behaviours.common.policy import nearest_foreign
from behaviours.rollout.policy_params import FEARS_ALL, STYLES, StyleRecord
from sim.game import (
    AIR,
    BEER_COST,
    BEER_HEALS,
    BLOW,
    CELLS,
    GAMES,
    MAX_LIFE,
    MINE_COST,
    OFFSET,
    STAY,
    TAVERN,
    Games,
)
from sim.kernels import entry, kernel
from sim.rules import has_effect

#: Goals: the number of a mine (`behaviours.common.map_tables`), a tavern, or an enemy (`GOAL_HERO` + 0..3); or none.
NO_GOAL, GOAL_TAVERN, GOAL_HERO = -1, 128, 130

#: Beside an enemy he flees to a tavern at most this many moves away.
FLIGHT = 3
#: A tavern fewer moves away than this is near for the thirsty.
NEAR_TAVERN = 5
#: Enemies at most this many moves away make him look where he steps.
CLOSE = 4
#: With this life or less a kill is struck while drinking, where there is a tavern beside him.
_SIP = MAX_LIFE - 30


@kernel
def _away(ground: MapRecord, here: int, there: int) -> int:
    """Moves from one square to another."""
    return int64(ground.to_square[uintp(here * CELLS + there)])


@kernel
def _wins(weights: WeightsRecord, striker: int, other: int) -> bool:
    """Whether the one who strikes first wins a duel, by their lives."""
    return bool(weights.duel[uintp(striker * (MAX_LIFE + 1) + other)] != 0)


@kernel
def _at_bar(game: GameRecord, ground: MapRecord, hero: int) -> bool:
    """Whether the hero stands beside a tavern and can pay."""
    return bool(ground.to_tavern[uintp(int64(game.hero[uintp(hero)].pos))] == 1 and game.hero[uintp(hero)].gold >= BEER_COST)


@kernel
def _around(
    game: GameRecord, ground: MapRecord, weights: WeightsRecord, style: StyleRecord, hero: int
) -> tuple[bool, bool, int, int, int, int]:
    """What the enemies mean: (is one close, can one be killed now, how many are beside us, life of the strongest of them,
    the prey's index or -1, how far away it is)."""
    me = game.hero[hero]
    pos, life = int64(me.pos), int64(me.life)
    close, kill = False, False
    beside, strongest = int64(0), int64(0)
    prey, prey_away, best = int64(-1), int64(AWAY), int64(0)
    for step in range(1, 4):
        enemy = (hero + step) & 3
        other = game.hero[uintp(enemy)]
        away = _away(ground, pos, int64(other.pos))
        if away > CLOSE and away > style.hunt:
            continue
        his, mines, alert = int64(other.life), int64(other.mines), other.crashed == 0
        close = close or (alert and away <= CLOSE)
        if away == 1:
            if his <= BLOW:
                kill = True
            elif alert:
                strongest = max(strongest, his)
            if alert:
                beside += 1
        guarded = alert and _at_bar(game, ground, enemy)
        gain = int64(0)
        if away <= 2:
            if (mines > 0 or away == 1) and (his <= BLOW or (not guarded and _wins(weights, life, his))):
                gain = 4 * mines + 3 - away
        elif away <= style.hunt and prey < 0 and mines >= style.greed and not guarded and life >= his + style.margin + away:
            gain = mines
        if gain > best:
            best, prey, prey_away = gain, enemy, away
    return close, kill, beside, strongest, prey, prey_away


@kernel
def toward(game: GameRecord, ground: MapRecord, pos: int, there: int) -> int:
    """The direction of a free square (or `there` itself) nearest to `there`; `STAY` if all are taken."""
    best, choice = int64(AWAY), int64(STAY)
    for move in range(1, 5):
        square = pos + OFFSET[uintp(move)]
        if int64(game.cell[uintp(square)]) == AIR or square == there:
            away = _away(ground, square, there)
            if away < best:
                best, choice = away, int64(move)
    return choice


@kernel
def _to_goal(game: GameRecord, ground: MapRecord, pos: int, goal: int) -> int:
    """The first step of the way to a goal."""
    if goal < GOAL_TAVERN:
        return int64(ground.mine_step[uintp(goal * CELLS + pos)])
    if goal == GOAL_TAVERN:
        return int64(ground.tavern_step[uintp(pos)])
    return int64(toward(game, ground, pos, int64(game.hero[uintp(goal - GOAL_HERO)].pos)))


@kernel
def _errand(game: GameRecord, ground: MapRecord, style: StyleRecord, hero: int, prey: int) -> int:
    """Where he goes of his own accord: to drink, to prey, to the nearest mine, to a tavern."""
    me = game.hero[hero]
    pos, life, pays = int64(me.pos), int64(me.life), me.gold >= BEER_COST
    tavern = int64(ground.to_tavern[uintp(pos)])
    if pays and tavern == 1 and life <= style.drink:
        return int64(ground.tavern_step[uintp(pos)])
    if prey >= 0:
        return int64(toward(game, ground, pos, int64(game.hero[uintp(prey)].pos)))
    mine = nearest_foreign(game, ground, hero, pos)
    strong = mine != NO_MINE and life - int64(ground.to_mine[uintp(pos * MAX_MINES + mine)]) >= MINE_COST + style.reserve
    if strong and not (pays and life <= style.thirst and tavern < NEAR_TAVERN):
        return int64(ground.mine_step[uintp(mine * CELLS + pos)])
    if tavern != AWAY and (tavern > 1 or (pays and life <= MAX_LIFE - BLOW)):
        return int64(ground.tavern_step[uintp(pos)])
    return int64(STAY)


@kernel
def _danger(
    game: GameRecord, ground: MapRecord, weights: WeightsRecord, style: StyleRecord, hero: int, square: int, life: int
) -> int:
    """How many enemies strike first and win if he stands on `square` with this `life` after his ply; those he would then
    stand beside count twice, one is forgiven beside a tavern."""
    danger = int64(0)
    for step in range(1, 4):
        other = game.hero[uintp((hero + step) & 3)]
        away = _away(ground, square, int64(other.pos))
        if away > 2 or other.crashed:
            continue
        his = int64(other.life) - (BLOW if away == 1 else 0)
        if his > 0 and ((style.fear == FEARS_ALL and away == 2) or _wins(weights, his, max(life - 1, 1))):
            danger += 3 - away
    if danger and life > BLOW + 1 and ground.to_tavern[uintp(square)] == 1 and game.hero[hero].gold >= BEER_COST:
        danger -= 1
    return danger


@kernel
def _careful(game: GameRecord, ground: MapRecord, weights: WeightsRecord, style: StyleRecord, hero: int, want: int) -> int:
    """The least dangerous direction: `want` among equals, then what brings him nearer to a tavern (or Stay, if he freezes)."""
    me = game.hero[hero]
    pos, life = int64(me.pos), int64(me.life)
    tavern = ground.to_tavern[uintp(pos)]
    least, choice = int64(1 << 40), want
    for move in range(5):
        if not has_effect(game, hero, move):
            continue
        target = pos + OFFSET[uintp(move)]
        there = int64(game.cell[uintp(target)])
        square, then = pos, life
        if move == STAY or there == AIR:
            square = target
        elif there == TAVERN:
            then = min(life + BEER_HEALS, int64(MAX_LIFE))
        elif move == want:
            then = life - MINE_COST
        else:
            continue
        cost = 16 * _danger(game, ground, weights, style, hero, square, then)
        if move != want:
            cost += 4
            if style.freeze:
                cost -= 3 if move == STAY else 0
            elif ground.to_tavern[uintp(square)] < tavern or then > life:
                cost -= 2
        if cost < least:
            least, choice = cost, int64(move)
    return choice


@kernel
def styled_order(game: GameRecord, ground: MapRecord, weights: WeightsRecord, style: StyleRecord, hero: int, goal: int) -> int:
    """The order (0..4) of `hero` (0..3), who is to move, by `style` and on the way to `goal`."""
    me = game.hero[hero]
    if me.crashed:
        return int64(STAY)
    pos, life = int64(me.pos), int64(me.life)
    tavern, bar = int64(ground.to_tavern[uintp(pos)]), _at_bar(game, ground, hero)
    close, kill, beside, strongest, prey, prey_away = _around(game, ground, weights, style, hero)
    if kill:
        return int64(ground.tavern_step[uintp(pos)]) if bar and life <= _SIP else int64(STAY)
    if beside:
        if bar and life <= MAX_LIFE - BLOW:
            return int64(ground.tavern_step[uintp(pos)])
        if beside == 1 and prey_away == 1:
            return int64(STAY)
        if beside > 1 or not _wins(weights, life, strongest):
            if tavern <= FLIGHT and me.gold >= BEER_COST and life > BLOW * (tavern - 1):
                return int64(ground.tavern_step[uintp(pos)])
            if goal == NO_GOAL:
                return int64(STAY)
    if goal == NO_GOAL and style.shy and not bar:
        order = _dodge(game, ground, weights, style, hero)
        if order >= 0:
            return int64(order)
    want = _to_goal(game, ground, pos, goal) if goal != NO_GOAL else _errand(game, ground, style, hero, prey)
    if close and style.fear and not (goal == NO_GOAL and bar and life <= style.drink):
        return int64(_careful(game, ground, weights, style, hero, want))
    return int64(want)


@kernel
def _dodge(game: GameRecord, ground: MapRecord, weights: WeightsRecord, style: StyleRecord, hero: int) -> int:
    """The step that keeps farthest from those who strike first and win; -1 where none of them is as near as he fears."""
    pos, life = int64(game.hero[hero].pos), int64(game.hero[hero].life)
    choice, most = int64(-1), int64(-1000)
    for move in range(5):
        square = pos + OFFSET[uintp(move)]
        if move != STAY and int64(game.cell[uintp(square)]) != AIR:
            continue
        nearest = int64(style.shy + 1)
        for step in range(1, 4):
            other = game.hero[uintp((hero + step) & 3)]
            if other.crashed == 0 and _wins(weights, int64(other.life), life):
                away = _away(ground, int64(other.pos), square)
                nearest = away if away < nearest else nearest
        if move == STAY and nearest > style.shy:
            return int64(-1)
        tavern, dead_end = int64(ground.to_tavern[uintp(square)]), int64(ground.dead_end[uintp(square)])
        score = 8 * nearest - (tavern if tavern < 7 else 7) - 12 * (dead_end if dead_end < 2 else 2)
        if score > most:
            most, choice = score, int64(move)
    return choice


@entry(types.int64(GAMES, types.int64, types.int64, GROUNDS, WEIGHT_ARRAY, STYLES, types.int64, types.int64))
def follow(
    games: Games,
    index: int,
    hero: int,
    grounds: NDArray[np.void],
    weights: NDArray[np.void],
    styles: NDArray[np.void],
    number: int,
    goal: int,
) -> int:
    """`styled_order` for Python: the order of `hero` (0..3) in ``games[index]`` by ``styles[number]`` and with this goal.

    `grounds` from `behaviours.common.map_tables.ground_of`, `weights` from `behaviours.common.evaluation.compiled_weights`
    (for its table of duels), `styles` from `compiled_styles`.
    """
    return int64(styled_order(games[index], grounds[0], weights[0], styles[number], hero, goal))
