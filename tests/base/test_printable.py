"""What strangers wrote comes to a terminal as text: their escape sequences, and what reverses or hides letters, do nothing."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
import structlog
from hypothesis import given, strategies as st
from rich.table import Table
from rich.text import Text

from tests.support.commands import printed
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.terminals import TerminalProgram
from vindibot.base.console import Terminal, plain_table, terminal
from vindibot.base.text import printable, printable_lines

#: Sets the title of the terminal's window, turns its text red, and turns the direction of letters round.
EVIL = "\x1b]0;pwned\x07\x1b[31m\u202e"
SHOWN = r"\x1b]0;pwned\x07\x1b[31m\u202e"
TRAIT = f"""
from behaviours import Behaviour, View, Votes

class Says(Behaviour):
    def vote(self, view: View) -> Votes:
        print({EVIL!r})
        raise ValueError({EVIL!r})
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (EVIL, SHOWN),
        ("Zoë [b] 日本 ☃", "Zoë [b] 日本 ☃"),
        ("\x85\x9b31m\x9d", r"\x85\x9b31m\x9d"),
        ("\ud800\u2028\U000e0001", r"\ud800\u2028\U000e0001"),
    ],
)
def test_what_is_not_visible_becomes_its_escape(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters()))
def test_any_text_is_made_printable_once(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown
    assert "\n".join(map(printable, text.split("\n"))).expandtabs() == printable_lines(text.replace("\t", "\\t")).expandtabs()


def test_a_console_sends_no_control_of_a_text() -> None:
    out = io.StringIO()
    console = terminal(file=out, width=60, force_terminal=True, color_system="standard")
    table = Table("name", "gold", title=EVIL)
    table.add_row(Text(EVIL, "bold"), "12")
    console.print(table)
    console.print(f"one\n{EVIL}", style="red", markup=False)
    lines = out.getvalue().splitlines()
    assert not any(sequence in out.getvalue() for sequence in (EVIL, "\x1b]", "\x07", "\u202e"))
    assert lines[-2:] == ["\x1b[31mone\x1b[0m", "\x1b[31m" + SHOWN.replace(r"\x07", "") + "\x1b[0m"], "rich leaves bells out"
    assert len({len(Text.from_ansi(line)) for line in lines[1:6]}) == 1, "the columns stand in line"


def in_a_terminal(folder: Path, *words: str) -> tuple[int, str]:
    """The exit code of a command that runs in a terminal, and everything that it wrote, without colours."""
    with TerminalProgram(*words, folder=folder, size=(160, 40)) as program:
        return program.end(100), program.text


def check(written: str) -> None:
    """Nothing of `EVIL` was obeyed, and it was seen."""
    for sequence in (EVIL, "\x1b]", "\x07", "\u202e"):
        assert sequence not in written, written
    assert r"\x1b]0;pwned" in written, written


@pytest.mark.slow
async def test_an_opponent_in_a_game(tmp_path: Path) -> None:
    named = {f"game.heroes.{hero}.name": EVIL for hero in range(4)}
    fault = Fault("state", "after", changes=named)
    async with FaultyServer(joins={1: fault}, moves=dict.fromkeys(range(1, 6), fault)) as server:
        (tmp_path / "play.toml").write_text('key = "s3cretk8"')
        words = ["--server", server.url, "--config", "play.toml", "--rounds", "5", "--bot", "stay", "--in-process"]
        code, written = await asyncio.to_thread(in_a_terminal, tmp_path, "play", *words)
    assert code == 0, written
    check(written)
    check(written[written.index("game 1: finished") :])
    (path,) = (tmp_path / "recordings").glob("*.jsonl")
    for words in (["explain", str(path), "--turn", "8"],):
        code, written = await asyncio.to_thread(in_a_terminal, tmp_path, *words)
        assert code == 0, written
        check(written)


@pytest.mark.slow
async def test_the_words_of_a_server(tmp_path: Path) -> None:
    async with FaultyServer(joins={1: Fault("status", status=400, body=f"no: {EVIL}")}) as server:
        (tmp_path / "play.toml").write_text('key = "s3cretk8"')
        words = ["--server", server.url, "--config", "play.toml", "--bot", "stay", "--in-process"]
        code, written = await asyncio.to_thread(in_a_terminal, tmp_path, "play", *words)
    assert code == 1
    check(written)


def test_what_a_server_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    def served(*_: object) -> None:
        structlog.get_logger("vindibot.server").warning(f"of {EVIL}", name=EVIL, key="s3cret")

    monkeypatch.setattr("vindibot.league.server.run_server", served)
    result = printed("serve")
    assert result[9:] == f"warning of {SHOWN}  name={SHOWN}  key=********\n"


@pytest.mark.slow
def test_a_trait(tmp_path: Path) -> None:
    (tmp_path / "says.py").write_text(TRAIT)
    (tmp_path / "broken.py").write_text(f"from behaviours import Behaviour\nraise ImportError({EVIL!r})\nclass A: pass\n")
    (tmp_path / "says.toml").write_text('[traits.says]\nuse = "says:Says"\n')
    (tmp_path / "broken.toml").write_text('[traits.broken]\nuse = "broken:Broken"\n')
    for expected, words in [
        (2, ["play", "--bot", "broken.toml"]),
        (0, ["behaviours", "--bot", "says.toml"]),
        (0, ["play", "--bot", "says.toml", "--rounds", "3", "--workers", "1"]),
    ]:
        code, written = in_a_terminal(tmp_path, *words)
        assert code == expected, written
        check(written)


def test_a_table_in_a_narrow_terminal_cuts_nothing() -> None:
    output = io.StringIO()
    console = Terminal(file=output, width=30)
    table = plain_table("bot", "@1 a-long-head-of-numbers", left=("bot",))
    table.add_row("a-bot-with-a-long-name", "12.5")
    console.print(table)
    text = output.getvalue()
    assert "…" not in text
    assert sorted("".join(text.split())) == sorted("bot@1a-long-head-of-numbersa-bot-with-a-long-name12.5")
