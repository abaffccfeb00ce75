"""What a person sees while kernels are compiled."""

from __future__ import annotations

import io
import signal
from pathlib import Path

import pytest
from rich.console import Console

from sim import generator, kernels
from sim.board import picture
from tests.support.waiting import wait_until
from vindibot.config.load import load_play
from vindibot.engine import warmup
from vindibot.engine.warmup import Preview, warm
from vindibot.games.files.recording import read_recording
from vindibot.session.play import play_games


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kernels seem to be uncompiled, and let nobody else compile them."""
    monkeypatch.setattr(kernels, "cached", lambda: False)
    monkeypatch.setattr(warmup, "cores", lambda: 1)


def console() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100, height=40, color_system=None)


def printed(to: Console) -> str:
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("fails", [False, True])
def test_a_preview_is_shown_above_the_progress_if_it_does_not_fail(fails: bool) -> None:
    def preview() -> str:
        return f"board {1 // (not fails)}"

    shown = console()
    warm(shown, Preview(generator, preview))
    assert ("board 1" in printed(shown)) != fails
    assert "compiling kernels" in printed(shown)


def test_compiled_kernels_need_no_preview() -> None:
    shown = console()
    warm(shown, Preview(generator, lambda: "a board"))
    assert not printed(shown)


@pytest.mark.usefixtures("uncompiled")
def test_the_first_board_is_that_of_the_first_game(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown = console()
    assert play_games(load_play(None, {"rounds": 2, "seed": 8, "pace": "none", "pool.in_process": True}), shown) == 0
    (path,) = here.glob("recordings/*.jsonl")
    rows = [row[1:-1] for row in picture(read_recording(path).turns[0].games).splitlines()[1:-1]]
    preview = printed(shown).partition("the board of the first game, which begins when all is compiled:\n")[2].splitlines()
    assert all(row in "\n".join(preview[: len(rows) + 2]) for row in rows)


def test_an_interrupt_in_a_finaliser_is_not_lost(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Finalised:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def compiles() -> None:
        Finalised()
        wait_until(lambda: False)

    monkeypatch.setattr("vindibot.engine.warmup.kernels.warm", compiles)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background, a shell ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            warm(Console(quiet=True))
    finally:
        signal.signal(signal.SIGINT, before)
    assert "ignored" not in capsys.readouterr().err
