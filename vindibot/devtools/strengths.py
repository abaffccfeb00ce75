"""``vindibot bots``: the bots that ship, their strength in a ladder, and how they play.

The strengths are in ``config/strength.toml``, which `vindibot ladder --table` has written. A bot file says in its first comment
how its bot plays.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from vindibot.base.output.console import plain_table, say
from vindibot.config.files import shipped

#: The table of strengths among the files that ship.
TABLE = "strength.toml"
#: The folders of the bots that ship, below ``bots``.
_FOLDERS = ("", "sparring")


@dataclass(frozen=True)
class ShippedBot:
    """A bot that ships. `name` is its name for commands. `low` and `high` are the ends of the 95 % interval of its rating.

    Rating and interval are None if the bot did not play in the ladder.
    """

    name: str
    plays: str
    rating: int | None = None
    low: int | None = None
    high: int | None = None


def shipped_bots() -> list[ShippedBot]:
    """Return the bots that ship, the strongest first. Bots without a rating come last."""
    ratings = strengths()["bots"]
    found = []
    for folder in _FOLDERS:
        for path in sorted(shipped("bots").joinpath(folder).glob("*.toml")):
            name = f"{folder}/{path.stem}" if folder else path.stem
            known = ratings.get(path.stem, {})
            found.append(ShippedBot(name, first_sentence(path), known.get("rating"), known.get("low"), known.get("high")))
    return sorted(found, key=lambda bot: (bot.rating is None, -(bot.rating or 0), bot.name))


def strengths() -> dict[str, Any]:
    """Return the table of strengths that ships: the command that made it, its date and its build, and the ratings of the bots."""
    found: dict[str, Any] = tomllib.loads(shipped(TABLE).read_text("utf-8"))
    return found


def first_sentence(path: Path) -> str:
    """Return the first sentence of the comment at the beginning of a bot file, "" if there is none."""
    lines = []
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return re.split(r"(?<=[\w)`]\.)\s+", " ".join(lines).strip())[0]


def show_bots(console: Console) -> None:
    """Print the bots that ship, and the command that made their ratings."""
    table = plain_table("bot", "rating", "95 % interval", "how it plays", left=("bot", "how it plays"))
    table.columns[-1].no_wrap, table.columns[-1].overflow = False, "fold"
    for bot in shipped_bots():
        interval = "" if bot.rating is None else f"{bot.low} to {bot.high}"
        table.add_row(bot.name, "" if bot.rating is None else str(bot.rating), Text(interval, "dim"), bot.plays)
    console.print(table)
    known = strengths()
    say(console, f"ratings of {known['date']}, from {known['games']} games of {known['version']}; seed is 0; made with:")
    say(console, f"  {known['command']}", "dim")
