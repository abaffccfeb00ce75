"""``vindibot replay``: a game as a page of HTML, as an animated GIF, or one turn of it as an SVG."""

from __future__ import annotations

import re
import webbrowser
from io import BytesIO
from pathlib import Path

from rich.console import Console

from sim.game import PLIES_PER_ROUND
from sim.pictures.svg import draw_svg
from vindibot.base.console import say
from vindibot.base.errors import UsageError
from vindibot.base.text import counted, printable
from vindibot.base.writing import Output
from vindibot.games.files.game_files import read_game_file
from vindibot.games.files.recording import Recording
from vindibot.games.files.review import REVIEW_SUFFIX, Review, read_review, review_path, write_review_line
from vindibot.games.game_record import GameRecord, dumps
from vindibot.games.history import GameHistory
from vindibot.viewer.bundle import bundle_of
from vindibot.viewer.page import MARK, SourceFile, whole_page

#: The mark in the first bytes of a picture.
PICTURE_MARK = "made by vindibot replay"
#: Largest number of plies for which a GIF has one picture per ply. For more plies, it has one picture per round.
MOST_PLIES = 160
#: Number of milliseconds for which a picture is shown: one per ply, one per round, the last one. A GIF has units of 10 ms.
PLY_MS, ROUND_MS, LAST_MS = 200, 120, 3000


def replay(
    console: Console,
    path: Path,
    *,
    html: Path | None,
    gif: Path | None,
    turns: tuple[int, int] | None,
    svg: Path | None,
    turn: int | None,
    game: str | None,
    show: bool,
) -> None:
    """Write the page or the pictures of the game in the file `path`, and print where they are. With `show`, open the last one.

    The page goes to `html`, or into the current folder if there are no pictures. Raises `VindibotError`, and `UsageError` for
    `turns` without `gif` and for `turn` without `svg`.
    """
    if turns is not None and gif is None:
        raise UsageError("--turns needs --gif")
    if turn is not None and svg is None:
        raise UsageError("--turn needs --svg")
    made = [file for file in (gif, svg) if file is not None]
    if gif is not None:
        count = gif_file(path, gif, turns, game)
        say(console, f"{gif} has {counted(count, 'picture')}, {-(-gif.stat().st_size // 1000)} kB")
    if svg is not None:
        say(console, f"{svg} shows turn {svg_file(path, svg, turn, game)}")
    if html is not None or not made:
        made.append(replay_file(path, html, game))
        say(console, f"the game is in {made[-1]}")
    if show and not webbrowser.open(made[-1].resolve().as_uri()):
        say(console, "found no browser: open this file yourself")


def replay_file(path: Path, out: Path | None = None, game: str | None = None) -> Path:
    """Write the page of the game in the file `path` to `out`, or into the current folder. Return the path of the page.

    If the file has several games, `game` selects one: an id, or a number from 1. The page shows the review of the game if the
    file has one, or if ``x.review.jsonl`` beside ``x.jsonl`` has one. An earlier page of this command is overwritten. Raises
    `VindibotError` for a damaged file and for a file without a game, and `UsageError` if `out` exists and is no page of this
    command.
    """
    target = out if out is not None else Path(f"{path.name.removesuffix('.gz').removesuffix('.jsonl')}.html")
    if target.exists() and target.samefile(path):
        raise UsageError(f"{target} is the game itself: give another file to --html")
    output = page_output(target, "--html names another file")
    output.check()
    shown = read_game_file(path, game)
    review = _review(path, shown)
    output.write(whole_page(bundle_of(shown, review), source_file(shown, review)))
    return target


def _review(path: Path, game: Recording | GameRecord) -> Review | None:
    """Return the review of a game from the file `path`, or from the file of `vindibot review` beside it. Return None if there is
    none."""
    name = game.id if isinstance(game, GameRecord) else game.header.game
    beside = review_path(path)
    return read_review(path, name) or (read_review(beside, name) if beside.is_file() else None)


def source_file(game: Recording | GameRecord, review: Review | None = None) -> SourceFile:
    """Return the file that the page of a game offers for download: the unchanged recording, or a file with this game record.

    `review` is the review of a game record, None if there is none. The file has this review too.
    """
    if isinstance(game, GameRecord):
        lines = [dumps(game)]
        if review is not None:
            lines += [write_review_line(review.header), *map(write_review_line, review.turns)]
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", game.id)[:60] + (".games.jsonl" if review is None else REVIEW_SUFFIX)
        return SourceFile(name, b"".join(line + b"\n" for line in lines))
    return SourceFile(game.path.name, game.path.read_bytes())


def page_output(path: Path, instead: str) -> Output:
    """Return an `Output` that writes the page of a game to `path`. It replaces an existing file only if this file is an earlier
    page.

    `instead` tells the user how to name another file.
    """
    return Output(path, MARK, "vindibot replay", instead)


def record_page(record: GameRecord) -> str:
    """Return the page of a game record as one HTML file. Raises `GameRecordError` if the game cannot be computed from the
    record."""
    return whole_page(bundle_of(record), source_file(record))


# ---- Pictures ----


def gif_file(path: Path, out: Path, turns: tuple[int, int] | None = None, game: str | None = None) -> int:
    """Write the game in the file `path` as a GIF to `out`, and return the number of its pictures.

    `turns` are the first and the last turn to show, None for the whole game. If there are more than `MOST_PLIES` plies between
    them, the GIF has one picture per round, otherwise one per ply. If the file has several games, `game` selects one: an id, or a
    number from 1. An earlier picture of this command is overwritten. Raises `VindibotError` as `replay_file` does, and
    `UsageError` for turns that the game does not have.
    """
    output = _picture_output(out, path, "--gif")
    history = _history(path, game)
    shown = _states(history, turns)
    output.write(_gif(history, shown))
    return len(shown)


def svg_file(path: Path, out: Path, turn: int | None = None, game: str | None = None) -> int:
    """Write one turn of the game in the file `path` as an SVG to `out`, and return this turn.

    `turn` is None for the last state. The other arguments and the errors are those of `gif_file`.
    """
    output = _picture_output(out, path, "--svg")
    history = _history(path, game)
    state = len(history) if turn is None else state_at(history, turn)
    output.write(f"<!-- {PICTURE_MARK} -->\n{draw_svg(history.state(state), names=_names(history), me=history.me)}")
    return history.turn(state)


def _picture_output(out: Path, game: Path, option: str) -> Output:
    if out.exists() and out.samefile(game):
        raise UsageError(f"{out} is the game itself: give another file to {option}")
    output = Output(out, PICTURE_MARK, "vindibot replay", f"{option} names another file")
    output.check()
    return output


def _history(path: Path, game: str | None) -> GameHistory:
    history = GameHistory.of(read_game_file(path, game))
    if not history:
        raise UsageError(f"{path}: there is nothing to show, the game ended before our first turn")
    return history


def _names(history: GameHistory) -> list[str]:
    return [printable(name) for name in history.names]


def state_at(history: GameHistory, turn: int) -> int:
    """Return the number of the state at a turn. Raises `UsageError` if the game does not have this turn."""
    first, last = history.turn(0), history.turn(len(history))
    if not first <= turn <= last:
        raise UsageError(f"there is no turn {turn}: this game has the turns {first} to {last}")
    return history.at_turn(turn)


def _states(history: GameHistory, turns: tuple[int, int] | None) -> list[int]:
    """Return the numbers of the states that a GIF shows."""
    first, last = (0, len(history)) if turns is None else (state_at(history, turn) for turn in turns)
    if turns is not None and turns[1] < turns[0]:
        raise UsageError(f"the turns {turns[0]}-{turns[1]}: the first is later than the last")
    if last - first <= MOST_PLIES:
        return list(range(first, last + 1))
    return [*range(first, last, PLIES_PER_ROUND), last]


def _gif(history: GameHistory, shown: list[int]) -> bytes:
    from vindibot.viewer.painting import Painter  # Pillow is imported only where it is needed

    painter = Painter(history.first, names=_names(history), me=history.me)
    pace = PLY_MS if len(shown) == shown[-1] - shown[0] + 1 else ROUND_MS
    pictures = (painter.reduced(history.state(number)) for number in shown)
    data = BytesIO()
    next(pictures).save(
        data,
        "GIF",
        save_all=True,
        append_images=pictures,
        duration=[*[pace] * (len(shown) - 1), LAST_MS],
        loop=0,
        comment=PICTURE_MARK.encode(),
        optimize=True,  # store only the parts that changed
    )
    return data.getvalue()
