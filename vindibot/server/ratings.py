"""Ratings after a game: Elo exactly as the original server computes it (RULES section 8), and openskill beside it.

Both are pure: they take the heroes with the ratings before the game and say what the users' ratings are after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openskill.models import PlackettLuce

FIRST_ELO = 1200
#: The bonus of 1 that keeps ratings from running down is granted in one game of ten.
BONUS_CHANCE = 0.1
#: Where openskill begins: the mean and its uncertainty. A cautious estimate of the strength is mean - 3 * uncertainty.
FIRST_MU, FIRST_SIGMA = 25.0, 25.0 / 3


@dataclass(frozen=True)
class Rated:
    """One hero of a game: his name, his gold at the end, and who he is; `user` is None for a hero who is no user."""

    name: str
    gold: int
    user: str | None = None
    elo: int = FIRST_ELO
    mu: float = FIRST_MU
    sigma: float = FIRST_SIGMA


def counts(heroes: Sequence[Rated]) -> bool:
    """Whether a game is rated at all: there are users in it, and not all heroes have one name."""
    return len({hero.name for hero in heroes}) > 1 and any(hero.user is not None for hero in heroes)


def elo_change(own: Rated, other: Rated) -> int:
    """What one pair of heroes adds to the rating of the first: 16 * (score - expected), truncated toward zero."""
    expected = 1 / (1 + 10 ** ((other.elo - own.elo) / 400))
    score = 0.5 if own.gold == other.gold else float(own.gold > other.gold)
    return int(16 * (score - expected))


def elo_after(heroes: Sequence[Rated], bonus: bool) -> dict[str, int]:
    """The Elo of every distinct user after a game that `counts`. Heroes who are no users are left out altogether."""
    known = [hero for hero in heroes if hero.user is not None]
    after: dict[str, int] = {}
    for hero in known:
        assert hero.user is not None
        change = sum(elo_change(hero, other) for other in known if other.name != hero.name)
        after[hero.user] = after.get(hero.user, hero.elo + bonus) + change
    return after


@lru_cache(maxsize=1)
def _model() -> PlackettLuce:
    # Imported when needed: it costs as much as a hundred plies.
    from openskill.models import PlackettLuce

    return PlackettLuce(mu=FIRST_MU, sigma=FIRST_SIGMA)


def load_model() -> None:
    """Import what `skill_after` needs, so that no game waits for it."""
    _model()


def skill_after(heroes: Sequence[Rated]) -> dict[str, tuple[float, float]]:
    """Mean and uncertainty (openskill, Plackett-Luce) of every distinct user after a game that `counts`, by rank of gold.

    A user with several heroes gets the mean of what each of them would have made of his rating. Nothing changes where
    there are fewer than two users.
    """
    known = [hero for hero in heroes if hero.user is not None]
    if len({hero.user for hero in known}) < 2:
        return {hero.user: (hero.mu, hero.sigma) for hero in known if hero.user is not None}
    model = _model()
    teams = [[model.create_rating([hero.mu, hero.sigma])] for hero in known]
    ranks = [float(sum(other.gold > hero.gold for other in known)) for hero in known]
    rated = model.rate(teams, ranks=ranks)
    after: dict[str, list[tuple[float, float]]] = {}
    for hero, [rating] in zip(known, rated, strict=True):
        assert hero.user is not None
        after.setdefault(hero.user, []).append((float(rating.mu), float(rating.sigma)))
    return {
        user: (sum(mu for mu, _ in seats) / len(seats), sum(sigma for _, sigma in seats) / len(seats))
        for user, seats in after.items()
    }
