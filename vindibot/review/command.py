"""``vindibot review``: review one game and print the report, or many games and print the table of the bots."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console

from vindibot.base.errors import UsageError
from vindibot.base.output.console import say
from vindibot.base.writing import short
from vindibot.config.bots import Bot, load_bot
from vindibot.games.files.game_files import games_path, is_results, kind_of, read_game_file, read_records
from vindibot.games.files.recording import Recording
from vindibot.games.files.review import Review, Thresholds, review_path
from vindibot.games.game_record import GameRecord
from vindibot.games.history import GameHistory
from vindibot.review.regression import NODES_AGAIN, ask_again, compare, write_tests
from vindibot.review.report import bots_of, many_games, show_profile, show_review
from vindibot.review.review_run import ReviewFile, review_games, where
from vindibot.review.turns import Reviewer
from vindibot.review.values import NODES, ROUNDS

#: The default bot whose playouts value the moves. The thresholds were chosen with this version.
REVIEWER = "versions/strong-1"


@dataclass(frozen=True)
class ReviewRequest:
    """The arguments of ``vindibot review``. Fields have the names of the options. None stands for an option that is not given.

    `heroes` are 0..3, empty for the default heroes of `review_games`. `workers` is the number of processes, None for one per
    core. `thresholds` has the fields of `Thresholds` that the options set.
    """

    path: Path
    heroes: tuple[int, ...] = ()
    game: str | None = None
    bot: str | None = None
    nodes: int | None = None
    rounds: int | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    worst: int = 10
    tests: Path | None = None
    compare: bool = False
    most: int | None = None
    output: Path | None = None
    again: bool = False
    workers: int | None = None

    @property
    def asks(self) -> bool:
        """Whether a bot is asked what it would play instead of the worst moves. If so, `bot` is this bot, and `nodes` its search
        budget."""
        return self.compare or self.tests is not None


def run_review(console: Console, request: ReviewRequest) -> None:
    """Review the games of a file, and print the report. Raises `VindibotError`."""
    path = request.path
    if request.game is None and (is_results(path) or _has_many(path)):
        _review_many(console, request)
        return
    game = read_game_file(path, request.game)
    history = GameHistory.of(game)
    output = request.output or review_path(games_path(path))
    asked = _bot_to_ask(request, game) if request.asks else None
    review = _review(console, request, [game], output, [history.id])[history.id]
    heroes = [hero + 1 for hero in request.heroes] or list(review.header.heroes)
    review = Review(review.header, tuple(turn for turn in review.turns if turn.hero in heroes))
    nodes = NODES_AGAIN if request.nodes is None else request.nodes
    if request.compare and asked is not None:
        compare(console, history, review, asked, nodes)
    if request.tests is not None:
        turns = review.worst(request.worst)
        if asked is not None:
            answers = ask_again(console, history, turns, asked, nodes)
            turns = sorted((one.turn for one in answers if not one.mended), key=lambda turn: -turn.loss)
        if not turns:
            say(console, "no test was written: the bot plays well at each of the worst moves")
        else:
            name = request.bot or (asked.name if asked is not None else "mybot")
            write_tests(console, [(history, turn) for turn in turns], request.tests, name)
    if not request.asks:
        show_review(console, history, review, request.worst)
        console.print()
        say(console, where(output))


def _has_many(path: Path) -> bool:
    if kind_of(path) != "records":
        return False
    records = iter(read_records(path))
    next(records, None)
    return next(records, None) is not None


def _review_many(console: Console, request: ReviewRequest) -> None:
    if request.asks:
        raise UsageError(f"{short(request.path)} has several games: choose one with --game")
    games = many_games(request.path, request.most)
    output = request.output or review_path(games.path)
    reviews = _review(console, request, list(games.records), output, [record.id for record in games.records])
    show_profile(console, bots_of(games, reviews), len(reviews))
    console.print()
    command = shlex.join(["vindibot", "replay", short(output), "--game", "1", "--open"])
    say(console, f"the reviews are in {short(output)}; one of them: {command}")


def _review(
    console: Console, request: ReviewRequest, games: list[Recording | GameRecord], output: Path, ids: list[str]
) -> dict[str, Review]:
    """Review the turns of these games that have no review in the file `output` yet. Return the complete reviews of these games,
    by game id."""
    with ReviewFile(output, request.path, request.again) as file:
        before = next((file.reviews[game].header for game in ids if game in file.reviews), None)
        # An earlier review is continued with its own settings, unless options change them.
        bot, nodes, rounds = (REVIEWER, NODES, ROUNDS) if before is None else (before.bot, before.nodes, before.rounds)
        if not request.asks:  # else these options are for the bot that is asked again
            bot = bot if request.bot is None else request.bot
            nodes = nodes if request.nodes is None else request.nodes
        rounds = rounds if request.rounds is None else request.rounds
        try:
            thresholds = Thresholds(**{**(before.thresholds.model_dump() if before is not None else {}), **request.thresholds})
        except ValidationError as problem:
            raise UsageError(f"the thresholds: {problem.errors()[0]['msg']}") from None
        reviewer = Reviewer(load_bot(bot), nodes, rounds, thresholds)
        review_games(console, games, file, reviewer, request.heroes or None, request.workers)
    return {one.header.game: one for one in file.complete() if one.header.game in ids}


def _bot_to_ask(request: ReviewRequest, game: Recording | GameRecord) -> Bot | None:
    """Return the bot that is asked what it would play: the bot that the request names, else the bot of the recording.

    Without such a bot, return None. Raises `UsageError` if `--compare` needs the bot.
    """
    if request.bot is not None:
        return load_bot(request.bot)
    if isinstance(game, Recording):
        with suppress(UsageError):
            return load_bot(game.header.bot)
    if not request.compare:
        return None
    raise UsageError("--compare asks a bot what it would play today: name it with --bot")
