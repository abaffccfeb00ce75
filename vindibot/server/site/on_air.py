"""The choice of the game that the page "On air" shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vindibot.server.room import Room

#: Size of a step of mean ratings, in Elo points. Among games in the same step, the game with the closest amounts of gold is
#: chosen.
RATING_STEP = 50


def interest(ratings: Sequence[int | None], gold: Sequence[int]) -> tuple[int, int]:
    """Return two numbers that say how interesting a game is. A larger tuple is more interesting.

    The first number is the mean rating, divided by `RATING_STEP` and rounded. The second number is the second largest amount of
    gold minus the largest amount. `ratings` has the Elo of each hero; None stands for a random bot of the server and counts as 0.
    `gold` has the gold of each hero.
    """
    mean = sum(rating or 0 for rating in ratings) / len(ratings)
    second, first = sorted(gold)[-2:]
    return round(mean / RATING_STEP), second - first


def most_interesting(rooms: Iterable[Room]) -> Room | None:
    """Return the most interesting room with a running arena game, None if there is none (see `interest`).

    Games of leagues and private matches count as arena games. If rooms are equally interesting, return the first of them.
    """
    running = [room for room in rooms if not room.training and not room.finished]
    return max(running, key=_interest, default=None)


def _interest(room: Room) -> tuple[int, int]:
    gold: list[int] = room.games["hero"]["gold"][0].tolist()
    return interest([player.elo for player in room.history.players], gold)
