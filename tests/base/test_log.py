"""The log: what stands in a line, where lines go, and that no secret gets out."""

from __future__ import annotations

import asyncio
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
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.session.player import log_turn

KEY = "k3yk3y42"
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
    again = Log(tmp_path)
    told.info("later")
    assert [line["event"] for line in again.lines] == ["a detail", "port 80 in use", "later"]
    assert logged.shown == ["warning port 80 in use"]


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


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    before = list(logging.getLogger().handlers)
    with log.configured("info", tmp_path / "x.jsonl"):
        assert len(logging.getLogger().handlers) == len(before) + 1
        log.setup("debug", tmp_path / "x.jsonl")
        assert len(logging.getLogger().handlers) == len(before) + 1
    assert logging.getLogger().handlers == before
    assert logging.getLogger("vindibot").level == logging.NOTSET
    assert not structlog.is_configured()
