"""The log: what stands in a line, where lines go, and that no secret gets out."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from pydantic import SecretStr
from rich.console import Console

from vindibot.base import log, text
from vindibot.base.errors import UsageError

KEY = "k3yk3y42"
told = structlog.get_logger("vindibot.test")


class Log:
    """A log set up on a terminal of text and a file."""

    def __init__(self, folder: Path, level: str = "info") -> None:
        self.terminal = io.StringIO()
        self.file = folder / "logs" / "vindibot.jsonl"
        self.configured = log.configured(level, self.file, Console(file=self.terminal, width=40, no_color=True))
        self.configured.__enter__()

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
    opened = Log(tmp_path)
    yield opened
    opened.configured.__exit__(None, None, None)


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "SECRETS", text.Redactor())
    monkeypatch.setattr(text, "SECRETS", log.SECRETS)


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


def test_an_exception_is_one_printable_line_in_the_terminal_and_whole_in_the_file(logged: Log) -> None:
    try:
        raise ValueError("bad [red]luck[/red] \x1b[2J")
    except ValueError:
        told.exception("trait failed")
    assert logged.shown == ['error   trait failed  error="ValueError: bad [red]luck[/red] \\x1b[2J"']
    (line,) = logged.lines
    assert line["traceback"].startswith("Traceback")
    assert line["traceback"].endswith("ValueError: bad [red]luck[/red] \x1b[2J\n")


def test_lines_below_the_level_go_to_the_file_alone(logged: Log, tmp_path: Path) -> None:
    told.debug("a detail")
    logging.getLogger("asyncio").warning("port %d in use", 80)
    inner = io.StringIO()
    with log.configured("info", logged.file, Console(file=inner)):
        told.info("in another block")
    told.info("later")
    assert [line["event"] for line in logged.lines] == ["a detail", "port 80 in use", "in another block", "later"]
    assert logged.shown == ["warning port 80 in use", "info    later"]
    assert "in another block" in inner.getvalue()


def test_a_key_and_the_url_of_a_move_get_out_nowhere(logged: Log) -> None:
    log.add_secret(SecretStr(KEY))
    told.info(f"with {KEY}", **{KEY: 1}, parts=[{"deep": (KEY.encode(), Path(KEY), {KEY})}])
    with log.context(game=f"g{KEY}"):
        logging.getLogger("other").error("%s", KEY, exc_info=RuntimeError(KEY))
    told.info("fields", key="whatever", nested={"token": "else"}, url="http://h:9000/api/g1g1g1g1/zzzz/play?key=qwertyui")
    with httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(200))) as client:
        client.post("http://h/api/g/zzzz/play")  # httpx logs it at level INFO
    logging.getLogger("uvicorn.access").info("POST /api/g/zzzz/play")
    assert not any(word in logged.everything for word in (KEY, "whatever", "else", "zzzz", "qwertyui"))
    assert len(logged.lines) == 3


# Faults


def test_a_log_file_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "x.jsonl"):
        with pytest.raises(UsageError, match=r"^log\.file: .* cannot be written: "):
            log.configured("info", path).__enter__()
    with pytest.raises(UsageError, match=r"^log\.level must be one of debug, "):
        log.configured("loud").__enter__()


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
