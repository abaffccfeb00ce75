"""Games of `vindibot play` that go on from a turn of an earlier game, and what the terminal prints after the last game."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from vindibot.base.console import plain_table, say
from vindibot.base.errors import UsageError
from vindibot.base.text import counted, printable
from vindibot.config.bots import Bot, bot_of_player, load_bot
from vindibot.config.files import short
from vindibot.games.files.recorded_turn import Continuation
from vindibot.server.lobby import RANDOM_BOT
from vindibot.session.player import Report
from vindibot.statistics.means import mean_interval


def rivals_of(start: Continuation, against: str) -> tuple[Bot | None, ...]:
    """Return the bots of the three other heroes, in the order in which they move after our hero.

    Without `against`, these are the bots of the earlier game. None stands for a random bot of the server, and for a hero that has
    crashed. Raises `UsageError` if a player of the earlier game is no bot here.
    """
    if against:
        bot = load_bot(against)
        return tuple(None if start.crashed(hero) else bot for hero in start.others)
    return tuple(_bot_of(start, hero) for hero in start.others)


def _bot_of(start: Continuation, hero: int) -> Bot | None:
    player = start.history.names[hero]
    if start.crashed(hero) or player == RANDOM_BOT:
        return None
    name = bot_of_player(player)
    if name is None:
        who = f"{printable(player)!r:.60} (hero {hero + 1} of the game)"
        raise UsageError(f"there is no bot {who} here: --against names a bot for the other heroes")
    return load_bot(name)


def show_comparison(console: Console, start: Continuation, rivals: Sequence[Bot | None], reports: Sequence[Report]) -> None:
    """Print the gold of the heroes at the end of the new games, beside the gold at the end of the earlier game.

    `rivals` are the bots of the other heroes (see `rivals_of`). Only the reports of games that were played to their end count.
    """
    ends = [[hero.gold for hero in report.last.game.heroes] for report in reports if report.completed and report.last is not None]
    if not ends:
        return
    history, then = start.history, start.gold
    gold = np.array(ends, float)
    alike = len(ends) > 1 and not gold.std(axis=0).any()
    gold = gold[:1] if alike else gold
    names = [next(report.name for report in reports if report.completed), *("" if bot is None else bot.name for bot in rivals)]
    players = dict(zip((start.hero, *start.others), names, strict=True))
    table = plain_table("hero", "then", "gold", "now", "mean gold", "95 %", left=("hero", "then", "now"))
    for hero in range(len(history.names)):
        mean, low, high = mean_interval(gold[:, hero])
        still = "crashed" if start.crashed(hero) else RANDOM_BOT
        cells = str(then[hero]) if then is not None else "-", printable(players[hero]) or still
        table.add_row(f"@{hero + 1}", printable(history.names[hero]), *cells, f"{mean:.1f}", _interval(low, high))
    console.print()
    say(console, f"from turn {start.turn} of game {printable(history.id)} to the end, {counted(len(ends), 'game')}")
    console.print(table)
    if then is None:
        say(console, "how the earlier game ended is not known: its last turns are missing")
        return
    mean, low, high = mean_interval(gold[:, start.hero] - then[start.hero])
    interval = f" (95 % {low:+.1f} .. {high:+.1f})" if len(gold) > 1 else "" if alike else "; --games 10 gives an interval"
    say(console, f"{printable(names[0])} as hero {start.hero + 1}: {mean:+.1f} gold compared with the earlier game{interval}")
    if alike:
        say(console, "all games ended alike, so there is no interval: these bots play the same moves in each game", "yellow")


def _interval(low: float, high: float) -> str:
    return "" if np.isnan(low) else f"{low:.1f} .. {high:.1f}"


#: The folder in which ``last`` is the newest recording.
_USUAL = Path("recordings")


def next_steps(recording: Path) -> Iterator[str]:
    """Yield the lines of advice after the first game of a user, whose file is `recording`.

    There are no lines if the folder of the recording has other recordings too: this is not the first game.
    """
    if len(list(recording.parent.glob("*.jsonl"))) > 1:
        return
    file = "last" if recording.parent.resolve() == _USUAL.resolve() else short(str(recording))
    advice = {
        shlex.join(["vindibot", "replay", file, "--open"]): "this game in the browser, with all votes",
        shlex.join(["vindibot", "review", file]): "its worst moves",
        "vindibot init mybot": "a bot of your own",
    }
    width = max(map(len, advice))
    yield "next:"
    yield from (f"  {command:{width}}   {what}" for command, what in advice.items())
