"""Fits policies to recorded moves: `behaviours.net.network` describes these policies.

A **decision** is one turn of a hero: the features of its five moves, and the move that it made. A move without an effect counts
as a stay. The fit maximises the likelihood of the decisions, less a penalty on large scores (ridge). The decisions on some maps
are for validation only; a digest of each map decides which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.rollout.learned import MAX_SCORE, SCORE_UNIT, scores_of, scores_text
from behaviours.net.move_features import DRINKS, FEATURES, SLOTS, features_of_moves, kind_of
from behaviours.rollout.policy import NO_GOAL, follow
from behaviours.rollout.policy_params import LIBRARY, compiled_policies
from sim.game import STAY
from vindibot.base import UsageError, short
from vindibot.config import LONGEST_NAME, Bot
from vindibot.games import GameHistory, GameRecordError
from vindibot.tuning.bot_files import head, reference
from vindibot.tuning.dataset import finished_games, map_number

Floats = NDArray[np.float64]

#: Smallest number of decisions for fitting, and for validation.
FEWEST, FEWEST_HELD = 1000, 300
#: Largest number of decisions of a bot. If there are more, every second, third ... decision is used.
MOST = 100_000
#: Largest number of iterations of a fit.
_ITERATIONS = 150
#: The factor of the sum of squares of all scores, in the penalty of a fit.
_RIDGE = 0.25


@dataclass(frozen=True)
class MoveDecisions:
    """The decisions of a bot.

    - `features`: int16[n, 5, `SLOTS`], as `features_of_moves` writes them.
    - `moves`: int64[n], the moves that the hero made (0..4).
    - `known`: bool[n, policies], whether each policy of `LIBRARY` makes the same move.
    - `validation`: bool[n], whether the decision is for validation only.
    """

    features: NDArray[np.int16]
    moves: NDArray[np.int64]
    known: NDArray[np.bool_]
    validation: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.moves)

    def thinned(self) -> MoveDecisions:
        """Return at most `MOST` of the decisions, evenly spaced."""
        step = -(-len(self) // MOST)
        return MoveDecisions(self.features[::step], self.moves[::step], self.known[::step], self.validation[::step])


@dataclass(frozen=True)
class LearnedPolicy:
    """A fitted policy, and how well it predicts the decisions for validation.

    - `bot`: the label of the bot. `text`: the text of the policy (see `behaviours.net.network`).
    - `fitted`, `held`: number of decisions for fitting, and for validation.
    - `accuracy`: share of the decisions in which the bot made the likeliest move.
    - `likelihood`: mean logarithm of the probability of the bot's move.
    - `library`: the largest accuracy of a policy of `LIBRARY`.
    """

    bot: str
    text: str
    fitted: int
    held: int
    accuracy: float
    likelihood: float
    library: float


def decisions_of(paths: Iterable[Path], holdout: float, bots: Sequence[str] = ()) -> dict[str, MoveDecisions]:
    """Return the decisions of each bot in files of game records, by label. `bots` selects bots (none: all).

    `holdout` (0..1) is the share of the maps for validation, at least one map and not all. Games that did not end by the rules
    are left out. Raises `UsageError` for a faulty record, for an unknown bot, and if there are no games on at least two maps.
    """
    found: dict[str, list[tuple[Any, ...]]] = {}
    names: set[str] = set()
    maps: set[str] = set()
    policies, weights = compiled_policies(LIBRARY), compiled_weights(Weights())
    for path, record in finished_games(paths):
        names |= set(record.names)
        chosen = [name for name in record.names if not bots or name in bots]
        if not chosen:
            continue
        try:
            history, where = GameHistory.of(record), record.game_map()
        except GameRecordError as problem:
            raise UsageError(f"{short(path)}: {problem.message}") from None
        tables = map_tables_of(where)
        maps.add(where.digest)
        for ply in history:
            if ply.mover is None or ply.move is None or record.names[ply.mover] not in chosen:
                continue
            features = np.zeros((5, SLOTS), np.int16)
            features_of_moves(ply.before, tables, ply.mover, features)
            done = _effective(features, ply.move)
            known = [
                _effective(features, follow(ply.before, 0, ply.mover, tables, weights, policies, number, NO_GOAL)) == done
                for number in range(len(LIBRARY))
            ]
            found.setdefault(record.names[ply.mover], []).append((features, done, known, where.digest))
    unknown = sorted(set(bots) - names)
    if unknown:
        raise UsageError(f"--bot {unknown[0]}: no game of this bot; the bots are {', '.join(sorted(names))}")
    if not found:
        raise UsageError("these files have no finished game without a crash or a forfeit")
    if len(maps) < 2:
        raise UsageError("these games are on one map: the models need games on at least two maps, one of them for validation")
    held = sorted(maps, key=map_number)[: min(max(1, round(holdout * len(maps))), len(maps) - 1)]
    decisions = {}
    for name, rows in found.items():
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        decisions[name] = MoveDecisions(columns[0], columns[1], columns[2], np.isin(columns[3], held))
    return decisions


def _effective(features: NDArray[np.int16], move: int) -> int:
    """Return the move itself, `STAY` for a move without an effect, and the first drink for any drink."""
    if move > STAY and features[move, 0] < 0:
        return STAY
    drinks = [other for other in range(1, 5) if kind_of(int(features[other, 0])) == DRINKS]
    return drinks[0] if move in drinks else move


def fit_policy(bot: str, decisions: MoveDecisions, note: Callable[[str], None] = lambda text: None) -> LearnedPolicy:
    """Fit a policy to the decisions of a bot. `note` is told about the progress.

    Raises `UsageError` if there are too few decisions for fitting or for validation.
    """
    from scipy.optimize import minimize

    decisions = decisions.thinned()
    held = decisions.validation
    for many, few, purpose in ((int((~held).sum()), FEWEST, "fitting"), (int(held.sum()), FEWEST_HELD, "validation")):
        if many < few:
            raise UsageError(f"{bot}: {many} decisions for {purpose}, at least {few} are needed: record more games on more maps")
    legal, features = decisions.features[:, :, 0] >= 0, np.maximum(decisions.features, 0).astype(np.int32)
    seen, allowed, moves = features[~held], legal[~held], decisions.moves[~held]
    rows, flat = np.arange(len(moves)), seen.ravel()
    rounds = 0

    def loss(scores: Floats) -> tuple[float, Floats]:
        odds = probabilities(scores, seen, allowed)
        likelihood = np.log(odds[rows, moves] + 1e-12).sum()
        odds[rows, moves] -= 1
        gradient = np.bincount(flat, np.repeat(odds.ravel(), SLOTS), minlength=FEATURES)
        gradient[0] = 0
        return _RIDGE * (scores**2).sum() - likelihood, gradient + 2 * _RIDGE * scores

    def progress(_: Floats) -> None:
        nonlocal rounds
        rounds += 1
        if rounds % 25 == 0:
            note(f"{bot}: {rounds} iterations of at most {_ITERATIONS}")

    limits = [(-MAX_SCORE, MAX_SCORE)] * FEATURES
    result = minimize(
        loss,
        np.zeros(FEATURES),
        jac=True,
        bounds=limits,
        method="L-BFGS-B",
        callback=progress,
        options={"maxiter": _ITERATIONS},
    )
    text = scores_text(result.x)
    odds = probabilities(scores_of(text) / SCORE_UNIT, features[held], legal[held])
    chosen = decisions.moves[held]
    return LearnedPolicy(
        bot,
        text,
        int((~held).sum()),
        int(held.sum()),
        float((odds.argmax(axis=1) == chosen).mean()),
        float(np.log(odds[np.arange(len(chosen)), chosen] + 1e-12).mean()),
        float(decisions.known[held].mean(axis=0).max()),
    )


def probabilities(scores: Floats, features: NDArray[np.int32], allowed: NDArray[np.bool_]) -> Floats:
    """Return the probability of each move: float64[n, 5].

    `features` is int32[n, 5, `SLOTS`], at least 0. `allowed` (bool[n, 5]) says which moves have an effect.
    """
    sums = np.where(allowed, scores[features].sum(axis=2), -np.inf)
    odds: Floats = np.exp(sums - sums.max(axis=1, keepdims=True))
    odds /= odds.sum(axis=1, keepdims=True)
    return odds


def imitating_text(bot: Bot, trait: str, policies: Sequence[LearnedPolicy], path: Path) -> str:
    """Return the text of a bot file at `path`, for a bot that extends `bot` and has these policies as further opponent models.

    `trait` is the label of the trait whose parameter `learned` gets the policies, after those that it has already. Raises
    `UsageError` if the bot has no such trait.
    """
    known = learned_by(bot, trait)
    comments = [
        f"Opponent models fitted to recorded moves: {len(known)} of {bot.name}, and one for each bot below. The percentage is",
        "the share of the bot's moves that its model predicts, on maps that the fit did not use.",
        *(f"  {one.bot}: {one.accuracy:.1%} of {one.held} moves" for one in policies),
    ]
    traits = {trait: {"learned": [*known, *(one.text for one in policies)]}}
    return head(comments) + tomli_w.dumps(
        {"name": f"{bot.name}-learned"[:LONGEST_NAME], "version": bot.version, "extends": reference(bot, path), "traits": traits}
    )


def learned_by(bot: Bot, trait: str) -> tuple[str, ...]:
    """Return the texts of the learned policies that the trait with this label has.

    Raises `UsageError` if the bot has no trait with this label and with the parameter `learned`.
    """
    found = {spec.label: behaviour for spec, behaviour in bot.build() if "learned" in type(behaviour).model_fields}
    if trait not in found:
        raise UsageError(f"--trait {trait}: {bot.name} has no trait {trait!r} with the parameter learned")
    return tuple(getattr(found[trait], "learned", ()))
