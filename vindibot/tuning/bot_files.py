"""The bot files that tuning writes: a tuned bot extends another bot, and has other values of some parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from vindibot.base.output.text import printable
from vindibot.base.writing import Output
from vindibot.config.bots import LONGEST_NAME, Bot, name_to_load
from vindibot.tuning.space import split_key

#: The first line of a tuned bot.
MARK = "# Made by vindibot tune"


def tuned_text(bot: Bot, values: Mapping[str, Any], path: Path, comments: Sequence[str]) -> str:
    """Return the text of a bot file at `path`, for a bot that extends `bot` and has other values of some parameters.

    `values` has these values by key. `comments` are the lines of the comment at the start. The
    new name is the name of `bot` with "-tuned", at most `LONGEST_NAME` characters.
    """
    traits: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        label, (*names, last) = split_key(bot, key)
        table = traits.setdefault(label, {})
        for name in names:
            table = table.setdefault(name, {})
        table[last] = value
    content = {
        "name": f"{bot.name}-tuned"[:LONGEST_NAME],
        "version": bot.version,
        "extends": reference(bot, path),
        "traits": traits,
    }
    return head(comments) + tomli_w.dumps(content)


def reference(bot: Bot, path: Path) -> str:
    """Return the value of `extends` in a bot file at `path` that extends `bot`: a name if possible, else the absolute path."""
    file = Path(bot.path)
    if file.parent == path.resolve().parent:
        return file.name
    return name_to_load(bot, path.resolve().parent) or str(file)


def write_tuned(path: Path, text: str) -> None:
    """Write the file of a tuned bot. Raises `UsageError` if the file exists and tuning has not made it."""
    Output(path, MARK, "vindibot tune", "--out names another file").write(text)


def head(comments: Sequence[str], mark: str = MARK) -> str:
    """Return the comment at the start of a file: `mark`, then the lines in `comments`."""
    return "".join(f"# {printable(line)}\n" if line else "#\n" for line in (mark.removeprefix("# ") + ".", *comments))
