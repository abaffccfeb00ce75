"""Bot files that commands write: a variant of a bot extends the bot, and has other values of some parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from vindibot.base.output.text import printable
from vindibot.config.bots import LONGEST_NAME, Bot, name_to_load


def variant_text(bot: Bot, path: Path, suffix: str, traits: Mapping[str, Any], comments: Sequence[str]) -> str:
    """Return the text of a bot file at `path`, for a bot that extends `bot` and has these tables of `traits`.

    `suffix` follows the name of `bot` in the new name. `comments` are the lines of the comment at the start.
    """
    file, folder = Path(bot.path), path.resolve().parent
    extends = file.name if file.parent == folder else name_to_load(bot, folder) or str(file)
    name = f"{bot.name}-{suffix}"[:LONGEST_NAME]
    return bot_text({"name": name, "version": bot.version, "extends": extends, "traits": traits}, comments)


def bot_text(content: Mapping[str, Any], comments: Sequence[str]) -> str:
    """Return the text of a bot file. `comments` are the lines of the comment at the start."""
    return "".join(f"# {printable(line)}\n" for line in comments) + tomli_w.dumps(content)
