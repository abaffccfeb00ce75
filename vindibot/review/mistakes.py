"""Kinds of bad moves: rules that say what was wrong with a move (docs/review.md).

The rules compare two lines: the playouts that begin with the played move, and the playouts that begin with the best move. First
they use the first 12 rounds of some playouts of each line (`NEAR`). If no rule applies there, they use 40 rounds of more
playouts, with larger limits (`FAR`). Some rules also use the states on the hero's last turns, and the whole game before the move.

A **cycle** is a stretch of a game in which two heroes undo each other's work while the others gain: a stand-off, in which they
swap blows, or mine swapping, in which the same mines change hands again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from behaviours.base import View
from sim.events import DRANK, INHERITED, NO_HERO, STRUCK, TOOK_MINE, Events
from sim.game import BEER_COST, BLOW, MAX_LIFE, MINE, OFFSET, PLIES_PER_ROUND, SEATS, STAY, STRIDE, TAVERN, TILE_BITS, Games
from sim.replay import events_of
from vindibot.games.files.review import Kind
from vindibot.games.history import GameHistory


@dataclass(frozen=True)
class RuleLimits:
    """The limits of the rules for one length of the lines.

    - `rounds`: the number of rounds from the beginning of each line that the rules use. `playouts`: the number of playouts.
    - `deaths`, `blows`: the rule of a fight. After the played move, the hero has at least this many more deaths per playout than
      after the best move, or loses at least this much more life by blows per playout.
    - `drink`, `mine`: the rules of a late drink and of a missed mine. After the best move, the hero drinks, or takes a mine, at
      least this number of rounds earlier than after the played move.
    """

    rounds: int
    playouts: int
    deaths: float
    blows: float
    drink: float
    mine: float


#: The limits that are tried first, and those that are tried if no rule applies.
NEAR = RuleLimits(rounds=12, playouts=24, deaths=0.15, blows=15.0, drink=2.0, mine=1.5)
FAR = RuleLimits(rounds=40, playouts=64, deaths=0.25, blows=30.0, drink=4.0, mine=4.0)
#: The rule of a useful death: after the best move, the hero has at least this many more deaths per playout than after the played
#: move, and has at most this life now.
USEFUL_DEATHS, USEFUL_LIFE = 0.5, 40
#: A hero is stalled if for `STALL_ROUNDS` rounds it stayed in an area of `STALL_SIDE` squares per side, and gained neither a mine
#: nor life.
STALL_ROUNDS, STALL_SIDE = 12, 3
#: Two heroes are in a stand-off if each has struck the other at least `STANDOFF_BLOWS` times in `STANDOFF_ROUNDS` rounds.
STANDOFF_ROUNDS, STANDOFF_BLOWS = 12, 6
#: Two heroes swap mines under three conditions: one has taken a mine back from the other at least `SWAPS` times in the game; one
#: has taken a mine from the other at least `LATE_SWAPS` times in the last `SWAP_ROUNDS` rounds; and another hero has gained more
#: gold in these rounds.
SWAPS, LATE_SWAPS, SWAP_ROUNDS = 15, 3, 24

#: The kind of the event that a hero takes a mine back from another hero. It is none of the kinds of `sim.events`.
_TOOK_BACK = 255
#: The kinds of cycles.
CycleKind = Literal["kept up a stand-off", "swapped mines"]


@dataclass(frozen=True)
class LineFacts:
    """Means over the playouts of one line, for our hero.

    - `deaths`: the number of deaths. `blows`: the life lost by blows.
    - `drink`, `mine`: the round of the first drink and of the first mine, from 0. If a playout has none, the number of rounds of
      the line counts.
    """

    deaths: float
    blows: float
    drink: float
    mine: float


@dataclass(frozen=True)
class Cycle:
    """A cycle in which our hero is: its kind, and the other hero (0..3)."""

    kind: CycleKind
    rival: int


class CycleFinder:
    """Finds the cycles in which the heroes of a game are."""

    def __init__(self, history: GameHistory) -> None:
        self._history = history
        events, self._ends = history.events()
        self._kinds = np.where(_taken_back(history, events, self._ends), _TOOK_BACK, events["kind"])
        self._heroes, self._others = events["hero"], events["other"]

    def cycle_of(self, number: int, me: int) -> Cycle | None:
        """Return the cycle in which hero `me` (0..3) is in state `number`, None if it is in none."""
        if number < PLIES_PER_ROUND * STANDOFF_ROUNDS:
            return None
        blows = self._count((STRUCK,), number, STANDOFF_ROUNDS)
        mutual = np.minimum(blows[me], blows[:, me])
        if mutual.max() >= STANDOFF_BLOWS:
            return Cycle("kept up a stand-off", int(mutual.argmax()))
        back = self._count((_TOOK_BACK,), number, number)
        swaps = back[me] + back[:, me]
        rival = int(swaps.argmax())
        if swaps[rival] < SWAPS:
            return None
        late = self._count((TOOK_MINE, _TOOK_BACK), number, SWAP_ROUNDS)
        gains = self._gains(number, SWAP_ROUNDS)
        others_gain = max(gain for hero, gain in enumerate(gains) if hero not in (me, rival)) > max(gains[me], gains[rival])
        goes_on = late[me, rival] + late[rival, me] >= LATE_SWAPS
        return Cycle("swapped mines", rival) if others_gain and goes_on else None

    def _count(self, kinds: Sequence[int], number: int, rounds: int) -> NDArray[np.int64]:
        """Return how often each hero did something of these kinds to each other hero, in the last `rounds` rounds before state
        `number`: int64[4, 4]."""
        start, end = (int(self._ends[ply - 1]) if ply else 0 for ply in (max(0, number - PLIES_PER_ROUND * rounds), number))
        chosen = np.flatnonzero(np.isin(self._kinds[start:end], kinds) & (self._others[start:end] != NO_HERO)) + start
        counts = np.zeros((SEATS, SEATS), np.int64)
        np.add.at(counts, (self._heroes[chosen], self._others[chosen]), 1)
        return counts

    def _gains(self, number: int, rounds: int) -> list[int]:
        """Return the gold that each hero has gained in the last `rounds` rounds before state `number`."""
        first = max(number % PLIES_PER_ROUND, number - PLIES_PER_ROUND * rounds)
        before, now = (self._history.state(each)["hero"]["gold"][0].astype(int) for each in (first, number))
        gains: list[int] = (now - before).tolist()
        return gains


def _taken_back(history: GameHistory, events: Events, ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each event of a game whether a hero took a mine by a move from the hero that had got it from this hero."""
    owners, earlier = _owners(history.first), dict[int, int]()  # the owner of each mine, and the owner before it
    taken_back, gaps = np.zeros(len(events), np.bool_), set(history.gaps)
    start = 0
    for ply, end in enumerate(ends.tolist()):
        if ply in gaps:
            owners = _owners(history.state(ply + 1))
        for place in range(start, end):
            kind, hero, other, square = (events[name].item(place) for name in ("kind", "hero", "other", "square"))
            if kind == TOOK_MINE:
                taken_back[place] = other != NO_HERO and earlier.get(square) == hero
                if other != NO_HERO:
                    earlier[square] = other
                owners[square] = hero
            elif kind == INHERITED:
                for mine in [mine for mine, owner in owners.items() if owner == hero]:
                    earlier[mine], owners[mine] = hero, other
        start = end
    return taken_back


def _owners(games: Games) -> dict[int, int]:
    """Return the owner of each mine that a hero (0..3) owns, by square."""
    tiles = games["cell"][0] & TILE_BITS
    return {square: int(tiles[square]) - MINE - 1 for square in np.flatnonzero(tiles > MINE).tolist()}


def facts_of(games: Games, me: int, lines: NDArray[np.int8]) -> LineFacts:
    """Return the facts of one line for hero `me` (0..3). `games` is the state in which the line begins.

    `lines` are the moves of the playouts of this line: int8[playouts, plies], -1 after the end of a playout.
    """
    rows = np.array([_facts(games, me, line) for line in lines])
    return LineFacts(*rows.mean(axis=0).tolist())


def _facts(games: Games, me: int, line: NDArray[np.int8]) -> tuple[float, float, float, float]:
    events, ends = events_of(games, bytes(line[line >= 0].tolist()))
    kind, hero, other = events["kind"], events["hero"], events["other"]

    def first(mask: NDArray[np.bool_]) -> float:
        places = np.flatnonzero(mask)
        ply = np.searchsorted(ends, places[0], side="right") if len(places) else len(line)
        return float(ply // PLIES_PER_ROUND)

    deaths = np.count_nonzero((kind == INHERITED) & (hero == me))
    blows = BLOW * np.count_nonzero((kind == STRUCK) & (other == me))
    return float(deaths), float(blows), first((kind == DRANK) & (hero == me)), first((kind == TOOK_MINE) & (hero == me))


def kind_of(
    view: View, cycle: Cycle | None, played: int, best: int, played_lines: NDArray[np.int8], best_lines: NDArray[np.int8]
) -> Kind:
    """Return what was wrong with the move `played` (0..4): the kind of the first rule that applies, "" if none. `best` is the
    best move, and `cycle` the cycle in which the hero is.

    `played_lines` and `best_lines` are the moves of the playouts after these two moves (see `facts_of`).
    """

    def facts(limits: RuleLimits) -> tuple[LineFacts, LineFacts]:
        rows, plies = limits.playouts, PLIES_PER_ROUND * limits.rounds
        before, after = (facts_of(view.games, view.me, lines[:rows, :plies]) for lines in (played_lines, best_lines))
        return before, after

    if cycle is not None and _goes_on(cycle, view, played) and not _goes_on(cycle, view, best):
        return cycle.kind
    return _near_kind(view, played, best, *facts(NEAR)) or _far_kind(view, *facts(FAR))


def _goes_on(cycle: Cycle, view: View, move: int) -> bool:
    """Return whether a move goes on with a cycle.

    In a stand-off, the hero stays on its square. In mine swapping, it takes a mine of the rival, or comes nearer to one.
    """
    if cycle.kind == "kept up a stand-off":
        return view.landing(move) == view.pos
    mines = np.flatnonzero((view.cells & TILE_BITS) == MINE + 1 + cycle.rival)
    if not len(mines):
        return False
    away = view.map.distances[:, mines].min(axis=1)
    return _tile(view, move) == MINE + 1 + cycle.rival or bool(away[view.landing(move)] < away[view.pos])


def _near_kind(view: View, played: int, best: int, played_facts: LineFacts, best_facts: LineFacts) -> Kind:
    tavern, mine = _at_tavern(view), _tile(view, best) >= MINE
    if tavern and played != STAY and _tile(view, played) != TAVERN and (best == STAY or _tile(view, best) == TAVERN):
        return "left a tavern open"
    if _tile(view, best) == TAVERN:
        return "drank too late"
    if played != STAY and _is_fight(NEAR, played_facts, best_facts):
        return "walked into a fight"
    if not mine and _is_late_drink(NEAR, view, played_facts, best_facts):
        return "drank too late"
    if best != STAY and is_stalled(view.recent["hero"]["pos"][:, view.me].tolist(), view):
        return "stalled"
    if played == STAY:
        return "stood still"
    return "passed by a mine" if mine or _is_late_mine(NEAR, played_facts, best_facts) else ""


def _far_kind(view: View, played_facts: LineFacts, best_facts: LineFacts) -> Kind:
    if view.life <= USEFUL_LIFE and best_facts.deaths - played_facts.deaths >= USEFUL_DEATHS:
        return "avoided a useful death"
    if _is_fight(FAR, played_facts, best_facts):
        return "walked into a fight"
    if _is_late_drink(FAR, view, played_facts, best_facts):
        return "drank too late"
    return "passed by a mine" if _is_late_mine(FAR, played_facts, best_facts) else ""


def _is_fight(limits: RuleLimits, played: LineFacts, best: LineFacts) -> bool:
    return played.deaths - best.deaths >= limits.deaths or played.blows - best.blows >= limits.blows


def _is_late_drink(limits: RuleLimits, view: View, played: LineFacts, best: LineFacts) -> bool:
    return view.life <= MAX_LIFE - BLOW and played.drink - best.drink >= limits.drink


def _is_late_mine(limits: RuleLimits, played: LineFacts, best: LineFacts) -> bool:
    return played.mine - best.mine >= limits.mine


def is_stalled(squares: Sequence[int], view: View) -> bool:
    """Return whether our hero stayed in a small area for the last `STALL_ROUNDS` rounds and gained neither a mine nor life.

    `squares` are the hero's squares on its last turns, oldest first, without the current turn.
    """
    last = [*squares, view.pos][-STALL_ROUNDS:]
    if len(last) < STALL_ROUNDS:
        return False
    own = view.recent["hero"][:, view.me][1 - STALL_ROUNDS :]
    mines, life = [*own["mines"].tolist(), view.mines], [*own["life"].tolist(), view.life]
    gains = (np.diff(mines) > 0) | (np.diff(life) > 0)
    places = np.stack(np.divmod(last, STRIDE), axis=1)
    return bool((np.ptp(places, axis=0) < STALL_SIDE).all()) and not gains.any()


def _tile(view: View, move: int) -> int:
    """Return the tile on the square to which a move leads, 0 for Stay."""
    return int(view.cells[view.pos + int(OFFSET[move])]) & TILE_BITS if move != STAY else 0


def _at_tavern(view: View) -> bool:
    """Return whether our hero stands beside a tavern and can pay for a beer."""
    return view.gold >= BEER_COST and any(_tile(view, move) == TAVERN for move in range(1, 5))
