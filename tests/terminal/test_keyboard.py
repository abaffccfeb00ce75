"""The keys of a terminal, and its mode after the program."""

from __future__ import annotations

from pathlib import Path

from tests.support.terminals import TerminalProgram
from vindibot.terminal.keyboard import keys_in


def test_keys_as_terminals_send_them() -> None:
    assert list(keys_in("q \x1b[C\x1bOD\x1b[A\x1b[B\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[5~+-")) == [
        *["q", " ", "right", "left", "up", "down", "home", "end", "home", "end", "+", "-"]
    ]


def test_an_error_restores_the_terminal(tmp_path: Path) -> None:
    program = (
        "import asyncio\n"
        "from vindibot.terminal.keyboard import keyboard\n"
        "async def main():\n"
        "    pressed = asyncio.Event()\n"
        "    with keyboard(lambda key: pressed.set(), None, None) as has_keys:\n"
        "        print('keys', has_keys, flush=True)\n"
        "        await pressed.wait()\n"
        "        raise ValueError('an error')\n"
        "asyncio.run(main())\n"
    )
    with TerminalProgram(program=program, folder=tmp_path) as terminal:
        terminal.until("keys True")
        assert not terminal.is_restored
        terminal.press("x")
        terminal.until("ValueError: an error")
        assert terminal.end() == 1
        assert terminal.is_restored
