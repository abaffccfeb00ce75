"""``vindibot replay --gif`` and ``--svg``: a game as an animated GIF, and one turn as an SVG."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from sim.game import PLIES_PER_ROUND
from sim.pictures.svg import draw_svg
from vindibot.base.errors import UsageError
from vindibot.base.output.text import printable
from vindibot.base.writing import Output
from vindibot.games.files.game_files import read_game_file
from vindibot.games.history import GameHistory

#: The mark in the first bytes of a picture.
MARK = "made by vindibot replay"
#: Largest number of plies for which a GIF has one picture per ply. For more plies, it has one picture per round.
MOST_PLIES = 160
#: Number of milliseconds for which a picture is shown: one per ply, one per round, the last one. A GIF has units of 10 ms.
PLY_MS, ROUND_MS, LAST_MS = 200, 120, 3000


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
    output.write(f"<!-- {MARK} -->\n{draw_svg(history.state(state), names=_names(history), me=history.me)}")
    return history.turn(state)


def _picture_output(out: Path, game: Path, option: str) -> Output:
    if out.exists() and out.samefile(game):
        raise UsageError(f"{out} is the game itself: give another file to {option}")
    output = Output(out, MARK, "vindibot replay", f"{option} names another file")
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
        comment=MARK.encode(),
        optimize=True,  # store only the parts that changed
    )
    return data.getvalue()
