"""Ratings after a game: Elo exactly as in the original server, and ratings of the library openskill.

The functions have no state. They take the heroes with their ratings before the game, and return the ratings after the game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openskill.models import PlackettLuce

FIRST_ELO = 1200
#: Share of games (0..1) that add 1 to the Elo of each player. Without this bonus, mean Elo would fall in the long run.
BONUS_CHANCE = 0.1
#: Mean and uncertainty of a new bot's openskill rating. A cautious estimate of the strength is mean - 3 * uncertainty.
FIRST_MU, FIRST_SIGMA = 25.0, 25.0 / 3


@dataclass(frozen=True)
class Rated:
    """One hero of a game: its name, its gold at the end, the id of its user (None for a random bot) and the user's ratings."""

    name: str
    gold: int
    user: str | None = None
    elo: int = FIRST_ELO
    mu: float = FIRST_MU
    sigma: float = FIRST_SIGMA


def winner_of(gold: Sequence[int]) -> int | None:
    """Return the index of the largest amount of gold, None if two or more heroes share it."""
    best = max(gold)
    return gold.index(best) if gold.count(best) == 1 else None


def counts(heroes: Sequence[Rated]) -> bool:
    """Return whether a game is rated. A rated game has at least one user, and heroes with at least two different names."""
    return len({hero.name for hero in heroes}) > 1 and any(hero.user is not None for hero in heroes)


def elo_change(own: Rated, other: Rated) -> int:
    """Return the number of Elo points that `own` gains (or loses, if negative) from the comparison with one other hero.

    The change is 16 * (score - expected), truncated toward zero. `score` is 1 for more gold, 0.5 for equal gold, 0 for less.
    `expected` is the expected score by the Elo formula.
    """
    expected = 1 / (1 + 10 ** ((other.elo - own.elo) / 400))
    score = 0.5 if own.gold == other.gold else float(own.gold > other.gold)
    return int(16 * (score - expected))


def elo_after(heroes: Sequence[Rated], bonus: bool) -> dict[str, int]:
    """Return each user's Elo after a rated game (see `counts`), by the user's id. Heroes without a user are left out.

    `bonus` says whether this game adds 1 to each Elo.
    """
    after: dict[str, int] = {}
    for hero in heroes:
        if hero.user is not None:
            others = (other for other in heroes if other.user is not None and other.name != hero.name)
            after[hero.user] = after.get(hero.user, hero.elo + bonus) + sum(elo_change(hero, other) for other in others)
    return after


@cache
def load_model() -> PlackettLuce:
    """Return the rating model for `skill_after`. The first call is slow, since it imports openskill."""
    from openskill.models import PlackettLuce

    return PlackettLuce(mu=FIRST_MU, sigma=FIRST_SIGMA)


def skill_after(heroes: Sequence[Rated]) -> dict[str, tuple[float, float]]:
    """Return each user's openskill rating after a rated game (see `counts`), by the user's id: mean and uncertainty.

    The model is Plackett-Luce with the heroes ranked by gold. A user with several heroes gets the mean of their new ratings.
    Nothing changes if there are fewer than two users.
    """
    known = [(hero.user, hero) for hero in heroes if hero.user is not None]
    if len({user for user, _ in known}) < 2:
        return {user: (hero.mu, hero.sigma) for user, hero in known}
    model = load_model()
    teams = [[model.create_rating([hero.mu, hero.sigma])] for _, hero in known]
    ranks = [float(sum(other.gold > hero.gold for _, other in known)) for _, hero in known]
    after: dict[str, list[tuple[float, float]]] = {}
    for (user, _), [rating] in zip(known, model.rate(teams, ranks=ranks), strict=True):
        after.setdefault(user, []).append((float(rating.mu), float(rating.sigma)))
    return {
        user: (sum(mu for mu, _ in seats) / len(seats), sum(sigma for _, sigma in seats) / len(seats))
        for user, seats in after.items()
    }
