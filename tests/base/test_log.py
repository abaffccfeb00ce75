"""The log: what stands in a line, where lines go, and that no secret gets out."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from pydantic import SecretStr
from rich.console import Console

from tests.support.paths import TOP
from vindibot.base import log, text
from vindibot.base.errors import UsageError
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.session.player import log_turn

CHECKOUT = TOP
KEY, TOKEN = "k3yk3y42", "t0k3"
told = structlog.get_logger("vindibot.test")


class Log:
    """A log set up on a terminal of text and a file."""

    def __init__(self, folder: Path, level: str = "info") -> None:
        self.terminal = io.StringIO()
        self.file = folder / "logs" / "vindibot.jsonl"
        log.setup(level, self.file, Console(file=self.terminal, width=40, no_color=True))

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.file.read_text("utf-8").splitlines()]

    @property
    def shown(self) -> list[str]:
        """Lines of the terminal without the time of day."""
        return [line[9:] for line in self.terminal.getvalue().splitlines()]

    @property
    def everything(self) -> str:
        return self.terminal.getvalue() + self.file.read_text("utf-8")


@pytest.fixture
def logged(tmp_path: Path) -> Iterator[Log]:
    yield Log(tmp_path)
    log.close()


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_secrets", text.Redactor())


def test_a_line_knows_game_turn_and_hero(logged: Log) -> None:
    with log.context(game="abcd", hero=2):
        log.bind(turn=12)
        told.warning("worker killed", trait="combat", ms=3.14159)
    told.info("bye")
    first, second = logged.lines
    assert datetime.fromisoformat(first.pop("time")).tzinfo == UTC
    assert first == {
        "level": "warning",
        "event": "worker killed",
        "game": "abcd",
        "turn": 12,
        "hero": 2,
        "trait": "combat",
        "ms": 3.14159,
        "logger": "vindibot.test",
    }
    assert {"game", "turn", "hero"}.isdisjoint(second)
    assert logged.shown == ["warning abcd #2 turn 12  worker killed  trait=combat  ms=3.142", "info    bye"]


async def test_games_at_once_do_not_mix(logged: Log) -> None:
    async def game(name: str, ready: asyncio.Barrier) -> None:
        with log.context(game=name):
            for turn in range(3):
                log.bind(turn=turn)
                await ready.wait()
                told.info("turn")

    ready = asyncio.Barrier(3)
    await asyncio.gather(*(game(name, ready) for name in "abc"))
    found = sorted((line["game"], line["turn"]) for line in logged.lines)
    assert found == [(name, turn) for name in "abc" for turn in range(3)]


def test_the_file_has_everything_and_the_terminal_what_was_asked_for(logged: Log) -> None:
    for level in ("debug", "info", "warning", "error"):
        getattr(told, level)(f"an {level}")
    assert [line["level"] for line in logged.lines] == ["debug", "info", "warning", "error"]
    assert logged.shown == ["info    an info", "warning an warning", "error   an error"]


def test_the_file_is_appended_and_written_at_once(logged: Log, tmp_path: Path) -> None:
    told.info("one")
    assert len(logged.lines) == 1
    again = Log(tmp_path)
    told.info("two")
    assert [line["event"] for line in again.lines] == ["one", "two"]


def test_a_turn(logged: Log) -> None:
    entries = [
        BallotEntry("mine-finder", 1.0, [0, 1, 0, 0, 0.5], 1.23456),
        BallotEntry("combat", 300.0, None, 900.0, "killed", "hung"),
    ]
    log_turn(Ballot(entries, [0, 1, 0, 0, 0.5], (0, 1, 4), 1, 41.0), late=True)
    (line,) = logged.lines
    assert (line["event"], line["direction"], line["margin_ms"], line["fallback"], line["late"]) == (
        "turn decided",
        "North",
        41,
        False,
        True,
    )
    assert line["sums"] == [0, 1, 0, 0, 0.5]
    assert line["traits"] == {
        "mine-finder": {"weight": 1.0, "votes": [0, 1, 0, 0, 0.5], "ms": 1.235, "status": "ok"},
        "combat": {"weight": 300.0, "votes": None, "ms": 900.0, "status": "killed", "note": "hung"},
    }
    assert logged.shown == []


def test_a_turn_in_the_terminal(tmp_path: Path) -> None:
    terminal = Log(tmp_path, "debug")
    log_turn(Ballot([BallotEntry("stay", 1.0, [1, 0, 0, 0, 0], 0.25)], [1.0, 0, 0, 0, 0], (0,), 0, 41.0))
    log.close()
    (line,) = terminal.shown
    assert line.startswith("debug   turn decided  direction=Stay  margin_ms=41  fallback=False")
    assert "traits={stay: {weight: 1, votes: [1, 0, 0, 0, 0], ms: 0.25, status: ok}}" in line


def test_an_exception_is_one_line_in_the_terminal_and_whole_in_the_file(logged: Log) -> None:
    try:
        raise ValueError("bad [red]luck[/red]")
    except ValueError:
        told.exception("trait failed")
    assert logged.shown == ['error   trait failed  error="ValueError: bad [red]luck[/red]"']
    (line,) = logged.lines
    assert line["traceback"].startswith("Traceback")
    assert line["traceback"].endswith("ValueError: bad [red]luck[/red]\n")


def test_what_strangers_say_cannot_move_the_cursor(logged: Log) -> None:
    told.info("\x1b[2Jhello\r\n", name="\x1b]0;title\x07", nested={"\x1b": ["\x9b", ""]})
    assert logged.shown == ['info    \\x1b[2Jhello\\r\\n  name=\\x1b]0;title\\x07  nested={\\x1b: [\\x9b, ""]}']
    assert logged.lines[0]["event"] == "\x1b[2Jhello\r\n"


# Secrets


class Holder:
    def __str__(self) -> str:
        return f"holds {KEY}"


class Broken:
    def __str__(self) -> str:
        raise RuntimeError(KEY)


def test_a_registered_secret_gets_out_nowhere(logged: Log) -> None:
    log.add_secret(SecretStr(KEY))
    log.add_secret(TOKEN, token=True)
    told.info(
        f"with {KEY}",
        **{KEY: 1},
        text=f"x{KEY}x",
        parts=[{"deep": (KEY.encode(), Holder(), {KEY})}],
        broken=Broken(),
        token_of=TOKEN,
    )
    with log.context(game=f"g{KEY}"):
        told.error("again", exc_info=RuntimeError(f"{KEY} and {TOKEN}"))
    logging.getLogger("other").error("%s", KEY)
    told.info("fields", key="whatever", token="else", url="http://h:9000/api/g1g1g1g1/zzzz/play?key=qwertyui")
    assert KEY not in logged.everything
    assert TOKEN not in logged.everything
    assert not any(word in logged.everything for word in ("whatever", "else", "zzzz", "qwertyui"))
    assert len(logged.lines) == 4


# The standard library's loggers


def test_httpx_does_not_tell_its_requests(logged: Log, caplog: pytest.LogCaptureFixture) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200))
    with httpx.Client(transport=transport) as client:
        client.post("http://h/api/g/zzzz/play")
    caplog.set_level(logging.DEBUG, "httpx")  # even if somebody asks for it
    logging.getLogger("httpx").info("POST http://h/api/g/zzzz/play")
    logging.getLogger("httpcore.http11").info("sent")
    logging.getLogger("uvicorn.access").info("POST /api/g/zzzz/play")
    assert logged.everything == ""


def test_warnings_of_libraries_come_through(logged: Log) -> None:
    logging.getLogger("asyncio").warning("port %d in use", 80)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("the kernel cache cannot be written", RuntimeWarning, stacklevel=1)
    first, second = logged.lines
    assert (first["event"], first["logger"], first["level"]) == ("port 80 in use", "asyncio", "warning")
    assert second["event"] == "the kernel cache cannot be written"


def test_a_traceback_of_a_library_has_no_secret_and_knows_the_game(logged: Log) -> None:
    log.add_secret(KEY)
    with log.context(game="abcd", turn=3):
        try:
            raise RuntimeError(f"no {KEY} \x1b[2J")
        except RuntimeError:
            logging.getLogger("asyncio").exception("a task failed, %s", KEY)
    (line,) = logged.lines
    assert KEY not in logged.everything
    assert (line["event"], line["game"], line["turn"]) == ("a task failed, ********", "abcd", 3)
    assert line["traceback"].endswith("RuntimeError: no ******** \x1b[2J\n")
    assert logged.shown == ['error   abcd turn 3  a task failed, ********  error="RuntimeError: no ******** \\x1b[2J"']


def test_a_traceback_is_shown_at_level_debug_and_is_printable(tmp_path: Path) -> None:
    terminal = Log(tmp_path, "debug")
    told.error("again", exc_info=RuntimeError("\x1b[2J"))
    log.close()
    assert terminal.shown[0] == 'error   again  error="RuntimeError: \\x1b[2J"'
    assert terminal.terminal.getvalue().splitlines()[-1] == r"RuntimeError: \x1b[2J"


def test_a_line_below_the_level_reaches_no_processor() -> None:
    seen: list[str] = []

    def noted(_logger: object, _method: str, event: dict[str, Any]) -> dict[str, Any]:
        seen.append(event["event"])
        return event

    with log.configured("info", None, Console(file=io.StringIO())):
        structlog.get_config()["processors"].insert(0, noted)
        told.debug("quiet")
        log_turn(Ballot([BallotEntry("stay", 1.0, [1, 0, 0, 0, 0], 0.25)], [1.0, 0, 0, 0, 0], (0,), 0, 41.0))
        told.info("loud")
    assert seen == ["loud"]


# Faults


def test_a_log_file_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "x.jsonl"):
        with pytest.raises(UsageError, match=r"^log\.file: .* cannot be written: "):
            log.setup("info", path)
    with pytest.raises(UsageError, match=r"^log\.level must be one of debug, "):
        log.setup("loud")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_told_once_and_disturbs_nothing() -> None:
    terminal = io.StringIO()
    with log.configured("info", "/dev/full", Console(file=terminal, width=40, no_color=True)):
        for _ in range(3):
            told.info("on")
    shown = [line[9:] for line in terminal.getvalue().splitlines()]
    assert len(shown) == 4
    assert shown[0].startswith("error   the log /dev/full cannot be written any more: [Errno 28]")
    assert shown[1:] == ["info    on"] * 3


def test_a_terminal_that_is_gone_disturbs_nothing(tmp_path: Path) -> None:
    gone = io.StringIO()
    with log.configured("info", tmp_path / "x.jsonl", Console(file=gone)):
        gone.close()
        told.info("still here")
    assert "still here" in (tmp_path / "x.jsonl").read_text("utf-8")


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    before = list(logging.getLogger().handlers)
    with log.configured("info", tmp_path / "x.jsonl"):
        assert len(logging.getLogger().handlers) == len(before) + 1
        log.setup("debug", tmp_path / "x.jsonl")
        assert len(logging.getLogger().handlers) == len(before) + 1
    assert logging.getLogger().handlers == before
    assert logging.getLogger("vindibot").level == logging.NOTSET
    assert not structlog.is_configured()


def test_without_a_console_lines_go_to_standard_error() -> None:
    program = "from vindibot.base import log; import structlog; log.setup(); structlog.get_logger().info('x' * 200, a=1)"
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == ""
    assert done.stderr[9:] == f"info    {'x' * 200}  a=1\n"
