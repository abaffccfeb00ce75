"""The top of a search's tree, node by node: an alpha-beta that keeps what it saw, with the kernel's search below it.

Moves, windows and scores are those of `behaviours.search.engine`; only the order in which moves are tried is simpler (the best
move of the depth before, then North, East, South, West, Stay), so that other branches may be cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from behaviours.base import View
from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.common.policy import policy
from behaviours.search.deepening import SearchParams, borrowed
from behaviours.search.engine import search_below
from behaviours.search.records import BEST_REPLY, BEST_REPLY_PLUS, INFINITE, PARANOID
from sim.game import RUNNING, STAY, UNDO, copy_of
from sim.rules import effective_moves, step_back, step_saving

#: The order in which moves are tried of which nothing is known.
_ORDER = (1, 3, 2, 4, 0)
#: What is known of a score: it is exact, or the real one is at most or at least as high (the branch was cut off).
EXACT, AT_MOST, AT_LEAST = "", "≤", "≥"


@dataclass
class Node:
    """A position of the tree: who is to move (0..3), the move that led here (None at the root), its score in hundredths of
    gold for us, what `bound` it is, and how many positions were looked at from here on.

    `children` are in the order in which they were tried, `cut` the moves that need not be tried any more; both are empty at
    the rim of the shown part. `expected` marks the principal variation, `number` counts from 1 at the root, a branch at a time.
    """

    hero: int
    move: int | None
    score: int
    bound: str
    nodes: int
    children: list[Node] = field(default_factory=list)
    cut: tuple[int, ...] = ()
    over: bool = False
    expected: bool = False
    number: int = 0

    def walk(self) -> Iterator[Node]:
        """This node and all below it, a branch at a time."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class SearchTree:
    """The tree of a question at a depth of `depth` plies, of which the first `top` are kept in `root`."""

    root: Node
    params: SearchParams
    depth: int
    top: int


def grow(view: View, params: SearchParams, weights: Weights, depth: int, top: int) -> SearchTree:
    """Search `depth` plies (at least 1), one depth after the other, and keep the first `top` plies of the last tree.

    It must be the turn of ``params.me`` in a running game. Deterministic; the view is not changed.
    """
    grower = _Grower(view, params, weights)
    root = grower.root(1, top)
    for plies in range(2, depth + 1):
        root = grower.root(plies, top)
    node = root
    while True:
        node.expected = True
        known = [child for child in node.children if child.bound == EXACT]
        better = max if node.hero == params.me else min
        if not known:
            break
        node = better(known, key=lambda child: child.score)
    for number, node in enumerate(root.walk(), 1):
        node.number = number
    return SearchTree(root, params, depth, top)


class _Grower:
    """One game and question; what was best at a position of the tree is remembered from depth to depth."""

    def __init__(self, view: View, params: SearchParams, weights: Weights) -> None:
        self._games = copy_of(view.games)
        self._params = params
        self._ground, self._weights = map_tables_of(view.map), compiled_weights(weights)
        self._undos = np.zeros(64, UNDO)
        self._path: list[int] = []
        self._best: dict[tuple[int, ...], int] = {}
        self._stop = np.zeros(1, np.int64)
        self._looked = 0
        self._deaths = 0  # how often we died on the way to the position

    def root(self, depth: int, top: int) -> Node:
        """The tree of one depth. Every direction has a window of its own, as far below the best as the question's clip."""
        me, before = self._params.me, self._looked
        with borrowed() as self._work:
            self._work.begin(self._params)
            self._work.task["limit"] = 1 << 60
            self._looked += 1
            children: list[Node] = []
            for move in self._moves(me, STAY, free=True):
                best = max((child.score for child in children), default=-INFINITE)
                alpha = max(best - self._params.clip, -INFINITE)
                children.append(self._child(move, depth - 1, top - 1, alpha, INFINITE, deviated=False))
            best = max(child.score for child in children)
            self._best[()] = next(child.move for child in children if child.score == best) or STAY
        return Node(me, None, best, EXACT, self._looked - before, children)

    def _child(self, move: int, left: int, top: int, alpha: int, beta: int, *, deviated: bool) -> Node:
        """The position after a move, with `left` plies to go."""
        assert step_saving(self._games, 0, move, self._undos, len(self._path))
        died = int(self._undos["deaths"].item(len(self._path))) >> self._params.me & 1
        self._path.append(move)
        self._deaths += died
        node = self._node(left, top, alpha, beta, deviated=deviated)
        self._deaths -= died
        node.move = move
        self._path.pop()
        step_back(self._games, 0, self._undos, len(self._path))
        return node

    def _node(self, left: int, top: int, alpha: int, beta: int, *, deviated: bool) -> Node:
        before = self._looked
        hero = int(self._games["turn"].item(0)) & 3
        over = self._games["status"].item(0) != RUNNING
        if top <= 0 or left == 0 or over:
            score = self._below(left, alpha, beta, deviated=deviated)
            return Node(hero, None, score, _bound(score, alpha, beta), self._looked - before, over=over)
        self._looked += 1
        mine, active = hero == self._params.me, bool(self._params.active >> hero & 1)
        free = mine or (active and not deviated)
        usual = self._usual(hero, free=free)
        low, high = alpha, beta
        score = -INFINITE if mine else INFINITE
        children: list[Node] = []
        moves = self._moves(hero, usual, free=free)
        for move in moves:
            strays = not mine and not self._round_ends(hero) and (deviated or (active and move != usual))
            child = self._child(move, left - 1, top - 1, low, high, deviated=strays)
            children.append(child)
            if (child.score > score) if mine else (child.score < score):
                score = child.score
                self._best[tuple(self._path)] = move
            low, high = (max(low, score), high) if mine else (low, min(high, score))
            if low >= high:
                break
        cut = tuple(moves[len(children) :])
        return Node(hero, None, score, _bound(score, alpha, beta), self._looked - before, children, cut)

    def _usual(self, hero: int, *, free: bool) -> int:
        """What a hero does who does nothing special in this mode."""
        active = bool(self._params.active >> hero & 1)
        if hero == self._params.me or (self._params.mode == BEST_REPLY and active):
            return STAY
        if free and self._params.mode != BEST_REPLY_PLUS:
            return STAY
        return int(policy(self._games, 0, hero, self._ground))

    def _round_ends(self, hero: int) -> bool:
        """Whether nothing that was done counts as straying after this hero's ply: it is ours next, or all may do as they like."""
        return self._params.mode == PARANOID or (hero + 1) & 3 == self._params.me

    def _moves(self, hero: int, usual: int, *, free: bool) -> list[int]:
        """His moves, the best one of the depth before first."""
        if not free:
            return [usual]
        mask = effective_moves(self._games, 0, hero)
        first = self._best.get(tuple(self._path))
        return sorted((move for move in _ORDER if mask >> move & 1), key=lambda move: move != first)

    def _below(self, left: int, alpha: int, beta: int, *, deviated: bool) -> int:
        """The kernel's score of this position. It knows nothing of who has deviated: what follows of it is played here."""
        hero = int(self._games["turn"].item(0)) & 3
        if deviated and left and self._games["status"].item(0) == RUNNING:
            self._looked += 1
            usual = self._usual(hero, free=False)
            return self._child(usual, left - 1, 0, alpha, beta, deviated=not self._round_ends(hero)).score
        work, price = self._work, self._deaths * self._params.death
        before = int(work.task["nodes"])
        window = alpha + price, beta + price
        score = search_below(self._games, self._ground, self._weights, work.works, self._stop, -1, left, window)
        self._looked += int(work.task["nodes"]) - before
        return int(score) - price


def _bound(score: int, alpha: int, beta: int) -> str:
    return AT_MOST if score <= alpha else AT_LEAST if score >= beta else EXACT
