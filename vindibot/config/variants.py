"""Bot files that commands write: new bots, and variants, which extend a bot and have other values of some parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from vindibot.base.errors import UsageError
from vindibot.base.text import printable
from vindibot.base.writing import Output
from vindibot.config.bots import LONGEST_NAME, Bot, name_to_load


def check_ending(path: Path, ending: str, option: str) -> None:
    """Raise `UsageError` if the name of a file that an option names has another ending."""
    if path.suffix != ending:
        raise UsageError(f"{option}: the name of the file must end in {ending}")


@dataclass(frozen=True)
class NewBot:
    """A bot file that the command `command` writes. `option` is the option of the command that names another file."""

    path: Path
    command: str
    option: str

    def check(self) -> None:
        """Raise `UsageError` if the name has another ending than .toml, or if this command did not make the file that exists."""
        check_ending(self.path, ".toml", self.option)
        self._output.check()

    @property
    def _output(self) -> Output:
        return Output(self.path, f"# Made by {self.command}", self.command, f"{self.option} names another file")

    def write(self, content: Mapping[str, Any], comments: Sequence[str]) -> None:
        """Write the bot. `comments` are the lines of the comment at the start. Raises `UsageError` or `VindibotError`."""
        lines = [f"# {printable(line)}\n" for line in (f"Made by {self.command}.", *comments)]
        self._output.write("".join(lines) + tomli_w.dumps({"name": self.path.stem[:LONGEST_NAME], **content}))

    def write_variant(self, bot: Bot, suffix: str, traits: Mapping[str, Any], comments: Sequence[str]) -> None:
        """Write a bot that extends `bot` and has these tables of `traits`. `suffix` follows the name of `bot` in the new name."""
        file, folder = Path(bot.path), self.path.resolve().parent
        extends = file.name if file.parent == folder else name_to_load(bot, folder) or str(file)
        name = f"{bot.name}-{suffix}"[:LONGEST_NAME]
        self.write({"name": name, "version": bot.version, "extends": extends, "traits": traits}, comments)
