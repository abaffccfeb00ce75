"""``vindibot review``: review one game and print the report, or many games and print the table of the bots."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.console import Console

from vindibot.base import interrupts
from vindibot.base.console import say
from vindibot.base.errors import UsageError
from vindibot.base.writing import short
from vindibot.config.bots import Bot, load_bot
from vindibot.games.files.game_files import games_path, is_results, kind_of, read_game_file, read_records
from vindibot.games.files.recording import Recording
from vindibot.games.files.review import Review, ReviewHeader, Thresholds, review_path
from vindibot.games.game_record import GameRecord
from vindibot.games.history import GameHistory
from vindibot.review.regression import NODES_AGAIN, not_fixed, write_tests
from vindibot.review.report import bots_of, many_games, show_profile, show_review
from vindibot.review.review_run import ReviewFile, review_games, where
from vindibot.review.turns import Reviewer
from vindibot.review.values import NODES, ROUNDS

#: The default bot whose playouts value the moves. The thresholds were chosen with this version.
REVIEWER = "versions/strong-1"


def run_review(  # noqa: PLR0913 - an argument per option
    console: Console,
    path: Path,
    *,
    heroes: tuple[int, ...] = (),
    game: str | None = None,
    bot: str | None = None,
    nodes: int | None = None,
    rounds: int | None = None,
    worst: int = 10,
    tests: Path | None = None,
    most: int | None = None,
    output: Path | None = None,
    again: bool = False,
    workers: int | None = None,
    **limits: float | None,
) -> None:
    """Review the games of a file, and print the report. None stands for an option that is not given. Raises `VindibotError`.

    `heroes` are 0..3, empty for the default heroes of `review_games`. `limits` are fields of `Thresholds`. With `tests`, a bot is
    asked what it would play instead of the worst moves. Then `bot` is this bot, and `nodes` its search budget.
    """
    many = many_games(path, most) if game is None and (is_results(path) or _has_many(path)) else None
    if many is not None and tests is not None:
        raise UsageError(f"{short(path)} has several games: choose one with --game")
    games = list(many.records) if many is not None else [read_game_file(path, game)]
    output = output or review_path(games_path(path))
    asked_bot = _bot_to_ask(bot, games[0]) if tests is not None else None
    options = {"rounds": rounds} | ({} if tests is not None else {"bot": bot, "nodes": nodes})
    more = " without --again" if again else ""
    with (
        interrupts.saying(f"interrupted: the reviewed turns are saved; the same command{more} goes on"),
        ReviewFile(output, path, again) as file,
    ):
        ids = [game.id if isinstance(game, GameRecord) else game.header.game for game in games]
        before = next((file.reviews[name].header for name in ids if name in file.reviews), None)
        review_games(console, games, file, _reviewer(before, options, limits), heroes or None, workers)
    reviews = {review.header.game: review for review in file.complete() if review.header.game in ids}
    if many is not None:
        show_profile(console, bots_of(many, reviews), len(reviews))
        console.print()
        command = shlex.join(["vindibot", "replay", short(output), "--game", "1", "--open"])
        say(console, f"the reviews are in {short(output)}; one of them: {command}")
        return
    history, review = GameHistory.of(games[0]), reviews[ids[0]]
    shown = [hero + 1 for hero in heroes] or list(review.header.heroes)
    review = Review(review.header, tuple(turn for turn in review.turns if turn.hero in shown))
    if tests is None:
        show_review(console, history, review, worst)
        console.print()
        say(console, where(output))
        return
    turns = review.worst(worst)
    if asked_bot is not None:
        turns = not_fixed(console, history, turns, asked_bot, NODES_AGAIN if nodes is None else nodes)
    name = bot or (asked_bot.name if asked_bot is not None else "mybot")
    write_tests(console, [(history, turn) for turn in turns], tests, name)


def _has_many(path: Path) -> bool:
    if kind_of(path) != "records":
        return False
    records = iter(read_records(path))
    next(records, None)
    return next(records, None) is not None


def _reviewer(before: ReviewHeader | None, options: Mapping[str, Any], limits: Mapping[str, float | None]) -> Reviewer:
    """Return the reviewer with these options and limits. Those that are None are as in an earlier review, or the default."""
    usual: dict[str, Any] = {"bot": REVIEWER, "nodes": NODES, "rounds": ROUNDS, "thresholds": Thresholds()}
    usual = usual if before is None else dict(before)
    chosen = usual | {name: value for name, value in options.items() if value is not None}
    own = {name: value for name, value in limits.items() if value is not None}
    try:
        thresholds = Thresholds(**chosen["thresholds"].model_dump() | own)
    except ValidationError as problem:
        raise UsageError(f"the thresholds: {problem.errors()[0]['msg']}") from None
    return Reviewer(load_bot(chosen["bot"]), chosen["nodes"], chosen["rounds"], thresholds)


def _bot_to_ask(name: str | None, game: Recording | GameRecord) -> Bot | None:
    """Return the bot that is asked what it would play: the bot with this name, else the bot of the recording, else None."""
    if name is not None:
        return load_bot(name)
    if isinstance(game, Recording):
        with suppress(UsageError):
            return load_bot(game.header.bot)
    return None
