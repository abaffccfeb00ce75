"""The features of a net: all slots of the moves and of the position against a second, slow implementation in Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from behaviours.common.duel import exchange
from behaviours.common.map_tables import map_tables_of
from behaviours.net.features import FEATURES, FOUND, GROUPS, MOVE_SLOTS, STATE_SLOTS
from behaviours.net.move_features import (
    DRINKS,
    FEATURES as BASIC_FEATURES,
    SLOTS,
    STAYS,
    STEPS,
    TAKES,
    kind_of,
)
from behaviours.net.object_features import NEAR_MINES, duel_results
from sim.board import draw
from sim.game import AIR, MINE, OFFSET, TAVERN, TILE_BITS, Games, mover
from sim.maps import map_of
from sim.rules import effective_moves
from tests.support.nets import features_in
from tests.support.positions import played_positions, small_positions


def basic_features(games: Games) -> np.ndarray:
    return all_features(games)[1][:, :SLOTS]


def basic_facts(games: Games, move: int) -> tuple[object, ...]:
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


@pytest.mark.slow
@pytest.mark.parametrize("positions", [small_positions(5, 300), played_positions(5, 15)], ids=["small", "played"])
def test_features_of_moves_say_the_same_as_a_second_implementation(positions: Iterator[Games]) -> None:
    """Per slot, equal facts must give equal features, and different facts different ones."""
    meaning: dict[int, tuple[int, object]] = {}
    feature: dict[tuple[int, object], int] = {}
    for games in positions:
        found, legal = basic_features(games), effective_moves(games, 0, mover(games))
        for move in range(5):
            assert (found[move, 0] >= 0) == (move == 0 or bool(legal >> move & 1)), draw(games)
            if found[move, 0] < 0:
                continue
            for slot, fact in enumerate(basic_facts(games, move)):
                number = int(found[move, slot])
                assert 0 <= number < BASIC_FEATURES
                if fact is None:
                    assert number == 0, f"slot {slot}, move {move}\n{draw(games)}"
                    continue
                place = 4 if 4 <= slot <= 6 else (7 if 7 <= slot <= 9 else slot)
                assert meaning.setdefault(number, (place, fact)) == (place, fact), f"slot {slot}, move {move}\n{draw(games)}"
                assert feature.setdefault((place, fact), number) == number, f"slot {slot}, move {move}\n{draw(games)}"
    assert len(meaning) > 250


def all_features(games: Games) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of the position, and of the five moves (5 x `MOVE_SLOTS`), of the hero to move."""
    found = np.zeros(1, FOUND)
    features_in(games, 0, mover(games), map_tables_of(map_of(games)), found)
    return found["state"][0], found["moves"][0].reshape(5, MOVE_SLOTS)


class Scene:
    """What the features of a decision depend on, computed in Python. The hero to move decides."""

    def __init__(self, games: Games) -> None:
        self.game, self.me, self.where = games[0], mover(games), map_of(games)
        self.heroes = self.game.hero
        self.own = self.heroes[self.me]
        self.enemies = [self.heroes[(self.me + each) % 4] for each in (1, 2, 3)]
        self.life, self.gold = int(self.own.life), int(self.own.gold)
        self.mines = [int(mine) for mine in self.where.mines]
        self.owners = {mine: (int(self.game.cell[mine]) & TILE_BITS) - MINE - 1 for mine in self.mines}  # -1: nobody
        self.most = max(int(enemy.mines) for enemy in self.enemies)
        self.richest = next((self.me + each) % 4 for each in (1, 2, 3) if self.heroes[(self.me + each) % 4].mines == self.most)
        self.total = max(len(self.mines), int(self.own.mines), self.most, 1)
        self.pos = int(self.own.pos)
        self.rounds = max(0, -(-(int(self.game.max_turns) - int(self.game.turn)) // 4))

    def away(self, square: int, target: int) -> int:
        return min(int(self.where.distances[square][target]), 255)

    def tavern(self, square: int) -> int | None:
        """Return the nearest tavern, the first of several."""
        return min((int(tavern) for tavern in self.where.taverns), key=lambda tavern: self.away(square, tavern), default=None)

    def to_tavern(self, square: int) -> int:
        tavern = self.tavern(square)
        return 255 if tavern is None else self.away(square, tavern)

    def stands_before(self, square: int, targets: Sequence[int]) -> bool:
        """Return whether an enemy stands on the first square of the shortest way (the first of several) to the nearest target."""
        now = min(self.away(square, int(target)) for target in targets)
        if now in (0, 255):
            return False
        for direction in range(1, 5):
            there = square + int(OFFSET[direction])
            walkable = self.game.cell[there] & TILE_BITS == AIR or there in [int(target) for target in targets]
            if walkable and min(self.away(there, int(target)) for target in targets) == now - 1:
                return any(int(enemy.pos) == there for enemy in self.enemies)
        return False

    def near_mines(self, square: int) -> list[tuple[int, int, int]]:
        """Return (distance, mine, owner) of the foreign mines among the 24 nearest mines, sorted."""
        reached = [(self.away(square, mine), number, mine) for number, mine in enumerate(self.mines)]
        listed = sorted(each for each in reached if each[0] < 255)[:24]
        return [(away, mine, self.owners[mine]) for away, _, mine in listed if self.owners[mine] != self.me]

    def pull(self, square: int, owner: int | None = None) -> int:
        """Return the potential of foreign mines, or of the mines of one enemy, in units of 1/256."""
        return sum(round(256 * 0.8**away) for away, _, one in self.near_mines(square) if owner in (None, one))

    def fear(self, square: int) -> int:
        """Return the potential of enemies with more life."""
        return sum(round(256 * 0.6 ** self.to_enemy(one, square)) for one in self.awake() if one.life > self.life)

    def prey(self, square: int) -> int:
        """Return the potential of enemies with less life, once for the enemy and once for each of its mines."""
        weaker = [one for one in self.awake() if one.life <= self.life]
        return sum(round(256 * 0.6 ** self.to_enemy(one, square)) * (1 + int(one.mines)) for one in weaker)

    def awake(self) -> list[object]:
        return [enemy for enemy in self.enemies if not enemy.crashed]

    def to_enemy(self, enemy: object, square: int) -> float:
        away = self.away(int(enemy.pos), square)
        return float("inf") if away == 255 else away


def binned(number: float, ends: tuple[float, ...]) -> int:
    """Return the number of the first bin whose largest value is at least `number`."""
    return sum(number > end for end in ends)


def far(distance: int) -> int:
    return binned(distance, (0, 1, 2, 3, 4, 6, 9))


def rounds_bin(rounds: int) -> int:
    return binned(rounds, (1, 2, 4, 7, 11, 16, 22, 30, 40, 55, 75, 100, 140, 190, 245))


def blows(life: int) -> int:
    """Return the number of blows that a life stands, at most 4."""
    return 0 if life <= 20 else 1 if life <= 40 else 2 if life <= 60 else 3 if life <= 80 else 4


def level(potential: int) -> int:
    return sum(potential >= least for least in (32, 128, 256, 512, 1024))


def moved(now: int, before: int) -> tuple[int, int]:
    """Return the bins of a potential and of its change."""
    size = sum(abs(now - before) >= least for least in (4, 32, 96))
    return level(now), size if now > before else -size


def state_facts(games: Games) -> tuple[object, ...]:
    """Return what the features of the position depend on, slot by slot."""
    scene = Scene(games)
    pos, life, gold, own_mines = int(scene.own.pos), scene.life, scene.gold, int(scene.own.mines)
    pays, near = gold >= 2, scene.near_mines(pos)
    rivals, bars = [], []
    for enemy in scene.enemies:
        more = int(enemy.life) - life
        difference = 4 if more >= 30 else 3 if more >= 10 else 2 if more > 0 else 1 if more >= -10 else 0
        distance = binned(scene.away(int(enemy.pos), pos), (1, 2, 3, 5, 8, 12))
        if enemy.crashed:
            distance, difference = 6, 0
        rivals.append((distance, difference, min(4 * int(enemy.mines) // scene.total, 3)))
        bars.append((far(scene.to_tavern(int(enemy.pos))), blows(int(enemy.life)), bool(enemy.gold >= 2)))
    best = max(int(enemy.gold) + int(enemy.mines) * scene.rounds for enemy in scene.enemies)
    lead = 24 * (gold + own_mines * scene.rounds - best) // (scene.total * (scene.rounds + 20))
    return (
        max(0, -(-life // 5) - 1),
        12 * own_mines // scene.total,
        rounds_bin(scene.rounds),
        (far(scene.to_tavern(pos)), pays),
        (far(near[0][0] if near else 255), blows(life)),
        *rivals,
        *bars,
        12 * scene.most // scene.total,
        12 * sum(owner < 0 for owner in scene.owners.values()) // scene.total,
        min(scene.rounds, 12),
        binned(gold, (0, 1, 3, 9, 24, 49, 99, 199, 399)),
        min(max(lead, -6), 6),
        (min(life // 10, 9), binned(own_mines, (0, 1, 2, 4, 7))),
        (level(scene.pull(pos)), blows(life)),
    )


def move_facts(games: Games, move: int, kind: int) -> tuple[object, ...]:
    """Return what the features of a move in the slots from `SLOTS` on depend on. `kind` is the kind of the move."""
    scene = Scene(games)
    pos, life = int(scene.own.pos), scene.life
    square = pos + int(OFFSET[move]) if kind == STEPS else pos
    then = {DRINKS: min(100, life + 50), TAKES: max(life - 20, 0)}.get(kind, life)
    share, near = min(6 * int(scene.own.mines) // scene.total, 5), scene.near_mines(square)
    away = [each[0] for each in near] + [255, 255]
    free = [distance for distance, _, owner in near if owner < 0] + [255]
    rich = [distance for distance, _, owner in near if owner == scene.richest] + [255]
    spawn = 0
    for enemy in scene.enemies:
        if int(enemy.spawn) == square:
            spawn = 2 if enemy.mines else 1
    if int(scene.own.spawn) == square:
        spawn = 3
    race = bool(near) and any(scene.away(int(enemy.pos), near[0][1]) <= near[0][0] for enemy in scene.awake())
    tavern = scene.tavern(square)
    taken = tavern is not None and any(scene.away(int(enemy.pos), tavern) < scene.away(square, tavern) for enemy in scene.awake())
    close = sum(scene.to_enemy(enemy, square) <= 3 for enemy in scene.awake())
    return (
        (rounds_bin(scene.rounds), kind),
        (share, kind),
        (binned(sum(each[0] <= 5 for each in near), (0, 1, 2, 3, 5)), blows(then)),
        spawn,
        (far(away[1]), blows(then)),
        (binned(scene.gold, (0, 1, 3, 9, 49)), kind),
        (far(free[0]), share),
        (far(rich[0]), share),
        (far(away[0]), race),
        (blows(then), scene.gold >= 2, taken),
        (close, blows(then)),
        moved(scene.pull(square), scene.pull(pos)),
        moved(scene.pull(square, scene.richest), scene.pull(pos, scene.richest)),
        moved(scene.fear(square), scene.fear(pos)),
        moved(scene.prey(square), scene.prey(pos)),
    )


def exact_duel(scene: Scene, enemy: object, square: int, then: int, away: int) -> object:
    """Return the result of the duel after a move: the bins of the winner's life, negative for the enemy, or "kills"."""
    own, its = max(then - 1, 1), int(enemy.life)
    drinks = scene.gold >= 2 and scene.to_tavern(square) == 1
    its_drinks = enemy.gold >= 2 and scene.to_tavern(int(enemy.pos)) == 1
    if away == 1:
        if its <= 20:
            return "kills"
        result = -exchange.py_func(its - 20, 99, 0, its_drinks, own, 99, 0, drinks, 64)
    else:
        approach = away - 1  # moves of one hero or the other, the enemy first, until they are beside each other but for one move
        its, own = max(1, its - approach // 2), max(1, own - (approach - 1) // 2)
        if away % 2 == 0:
            result = -exchange.py_func(its, 0, 0, False, own, 99, 0, drinks and away == 2, 64)
        else:
            result = exchange.py_func(own, 0, 0, False, its, 99, 0, its_drinks and away == 3, 64)
    return int(np.sign(result)) * (binned(abs(result), (20, 40, 60)) + 1) if result else 0


def share_bin(mines: int, total: int) -> int:
    return 0 if mines == 0 else 1 if 8 * mines <= total else 2 if 3 * mines <= total else 3


def way(distance: int) -> int:
    return binned(distance, (0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17))


def state_objects(games: Games) -> tuple[object, ...]:
    """Return what the features of `behaviours.net.object_features` for the position depend on."""
    scene = Scene(games)
    pairs = []
    for enemy in scene.enemies:
        rivals = [other for other in scene.awake() if other is not enemy and int(other.pos) != int(enemy.pos)]
        rivals += [other for other in scene.awake() if other is not enemy and int(other.pos) == int(enemy.pos)]
        rival = min((scene.away(int(enemy.pos), int(other.pos)) for other in rivals), default=255)
        away = 255 if enemy.crashed else scene.away(scene.pos, int(enemy.pos))
        pairs.append(
            (binned(away, (2, 4, 8)), binned(rival, (1, 2, 4)), blows(int(enemy.life)), share_bin(int(enemy.mines), scene.total))
        )
    size = min(max((int(scene.game["size"]) - 9) // 5, 0), 3)
    richer = sum(enemy.gold > scene.gold for enemy in scene.enemies)
    leading = sum(enemy.mines > scene.own.mines for enemy in scene.enemies)
    return (
        scene.life,
        *pairs,
        (binned(len(scene.mines), (4, 6, 8, 12, 16, 20, 28)), size),
        (int(richer), int(leading), binned(scene.rounds, (10, 30, 75, 150))),
    )


def move_objects(games: Games, move: int, kind: int) -> tuple[object, ...]:
    """Return what the features of `behaviours.net.object_features` for a move depend on. `kind` is the kind of the move."""
    scene = Scene(games)
    pos, life, held = scene.pos, scene.life, int(scene.own.mines)
    target = pos + int(OFFSET[move])
    square = target if kind == STEPS else pos
    then = {DRINKS: min(100, life + 50), TAKES: max(life - 20, 0)}.get(kind, life)
    pays = scene.gold >= 2

    def nearer(before: int, after: int) -> int:
        return int(np.sign(after - before))

    before, after = scene.to_tavern(pos), scene.to_tavern(square)
    tavern = way(0 if kind == DRINKS else after), nearer(before, after), min(life // 10, 9), pays
    mines: list[object] = []
    nearest = None
    for away, mine, owner in scene.near_mines(pos)[:6]:
        then_away = scene.away(square, mine)
        if kind == TAKES and mine == target:
            then_away = 0
        elif nearest is None:
            nearest = mine
        whose = "free" if not 0 <= owner <= 3 else "richest" if owner == scene.richest else "other"
        rival = min((scene.away(int(enemy.pos), mine) for enemy in scene.awake()), default=255)
        mines.append((way(then_away), nearer(away, then_away), whose, rival <= then_away, life - then_away > 20))
    mines += [None] * (6 - len(mines))
    duels: list[object] = []
    strikes = 0
    for enemy in scene.enemies:
        away = scene.away(square, int(enemy.pos))
        if enemy.crashed or not 1 <= away <= 10:
            duels.append(None)
            continue
        result = exact_duel(scene, enemy, square, then, away)
        strikes += away <= 2 and result != "kills"
        shares = share_bin(int(enemy.mines), scene.total), share_bin(held, scene.total)
        duels.append((binned(away, (1, 2, 3, 4, 5, 7, 10)), result, *shares))
    drinks = pays and after == 1
    on_tavern_way = bool(len(scene.where.taverns)) and scene.stands_before(square, scene.where.taverns)
    on_mine_way = nearest is not None and scene.stands_before(square, [nearest])
    return tavern, *mines, *duels, (strikes, blows(max(then - 1, 1)), drinks), (on_tavern_way, on_mine_way)


class Meanings:
    """The facts behind each feature so far: one feature has one meaning, and one meaning has one feature."""

    def __init__(self) -> None:
        self.of_feature: dict[int, tuple[str, object]] = {}
        self.of_fact: dict[tuple[str, object], int] = {}

    def agree(self, place: str, fact: object, number: int) -> bool:
        """Return whether the feature `number` fits all that was seen before. `place` is the slot, or the group of slots."""
        if fact is None:
            return number == 0
        said = place, fact
        return (
            0 < number < FEATURES
            and self.of_feature.setdefault(number, said) == said
            and (self.of_fact.setdefault(said, number) == number)
        )


@pytest.mark.slow
@pytest.mark.parametrize("positions", [small_positions(7, 200), played_positions(7, 15)], ids=["small", "played"])
def test_all_features_say_the_same_as_a_second_implementation(positions: Iterator[Games]) -> None:
    meanings = Meanings()
    groups = {5: "enemy", 6: "enemy", 7: "enemy", 8: "bar", 9: "bar", 10: "bar", 19: "pair", 20: "pair", 21: "pair"}
    moves_groups = dict.fromkeys(range(31, 37), "mines") | dict.fromkeys(range(37, 40), "duels")
    for games in positions:
        state, moves = all_features(games)
        assert (moves[:, :SLOTS] == basic_features(games)).all(), draw(games)
        known = *state_facts(games), *state_objects(games)
        for slot, (fact, number) in enumerate(zip(known, state.tolist(), strict=True)):
            place = groups.get(slot, f"position {slot}")
            assert meanings.agree(place, fact, number), f"slot {slot} of the position: {fact}, {number}\n{draw(games)}"
        for move in range(5):
            if moves[move, 0] < 0:
                assert not moves[move, 1:].any()
                continue
            kind = kind_of(int(moves[move, 0]))
            for slot, fact in enumerate((*move_facts(games, move, kind), *move_objects(games, move, kind)), SLOTS):
                number, place = int(moves[move, slot]), moves_groups.get(slot, f"move {slot}")
                assert meanings.agree(place, fact, number), f"slot {slot}, move {move}: {fact}, {number}\n{draw(games)}"
    assert len(meanings.of_feature) > 450


def test_groups_do_not_overlap() -> None:
    """The features of a slot lie in one group, and no other slot has features of this group, except those of the enemies."""
    ends = np.cumsum(list(GROUPS.values()))
    seen: dict[int, set[str]] = {}
    for games in [*small_positions(9, 100), *played_positions(9, 5)]:
        state, moves = all_features(games)
        assert len(state) == STATE_SLOTS
        for slot, number in enumerate(state.tolist()):
            if number:
                seen.setdefault(int(np.searchsorted(ends, number, "right")), set()).add(f"position {slot}")
        for row in moves[moves[:, 0] >= 0]:
            for slot in (SLOTS + np.flatnonzero(row[SLOTS:])).tolist():
                seen.setdefault(int(np.searchsorted(ends, row[slot], "right")), set()).add(f"move {slot}")
    assert set(seen) == set(range(1, len(GROUPS)))
    several = {"enemy": 3, "mines: way x nearer x owner x race x life": NEAR_MINES}
    for group, slots in seen.items():
        name = list(GROUPS)[group]
        assert len(slots) == several.get(name, several.get(name.partition(":")[0], 1)), name
    assert sum(GROUPS.values()) == FEATURES


def test_results_of_duels_are_those_of_exchanges() -> None:
    """All lives, with and without taverns, against the kernel that plays a duel blow by blow."""
    results = duel_results().reshape(2, 2, 101, 101)
    for drinks, its_drinks in ((False, False), (False, True), (True, False), (True, True)):
        for life in range(1, 101):
            for its_life in range(1, 101, 3):
                left = exchange.py_func(life, 999, 0, drinks, its_life, 999, 0, its_drinks, 64)
                expected = 0 if left == 0 else int(np.sign(left)) * (binned(abs(left), (20, 40, 60)) + 1)
                assert results[int(drinks), int(its_drinks), life, its_life] == 4 + expected
