"""``vindibot league``: make a league from a roster, and show the standings."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from vindibot.base import UsageError, VindibotError
from vindibot.cli.options import load_settings, overrides, settings_options
from vindibot.cli.parameters import PATH, config_option
from vindibot.server import LeagueSettings

SPELLED = {"time_limit_ms": "--limit-ms", "absence_timeout_s": "--absence-timeout"}


@click.group(name="league", short_help="Make a league of bots for `vindibot serve`, and show its standings.")
def league_command() -> None:
    """Make a league of bots, and show its standings.

    \b
      vindibot league new spring class.csv             writes spring.league.json and the keys of the bots
      vindibot serve --lan --league spring.league.json plays it; the page /leagues/spring shows the standings
    """


def _read_maps(text: str | None) -> tuple[str, ...] | None:
    """Return the maps in a comma-separated list. The name of a map stays a name. The path of a map file is replaced by the text
    of the map."""
    from vindibot.config import map_text

    if text is None:
        return None
    return tuple(map_text(word.strip()) or word.strip() for word in text.split(",") if word.strip())


@league_command.command("new", short_help="Make a league from a roster.")
@click.argument("name")
@click.argument("roster", type=PATH)
@click.option("--folder", type=PATH, default=Path(), help="write the league and the keys into this folder  [default: here]")
@config_option
@settings_options(LeagueSettings, spelled=SPELLED)
def new(name: str, roster: Path, folder: Path, config: str | None, **options: Any) -> None:
    """Make a league called NAME from a ROSTER.

    The roster is a CSV or JSON file. A CSV file has a line per bot: its name, and optionally a key of 8 characters. A bot without
    a key gets a new key. The file NAME-keys.csv lists the new keys.

    \b
    Examples:
      vindibot league new spring class.csv
      vindibot league new cup class.csv --table duel --system swiss --seatings 6 --maps m1,m3
    """
    from vindibot.base import counted, say, terminal
    from vindibot.server import SUFFIX, League, read_roster, write_keys

    given = overrides(options)
    given["maps"] = _read_maps(given["maps"])
    settings = load_settings(LeagueSettings, config, given, SPELLED).settings
    entrants = read_roster(roster)
    path, keys = folder / f"{name}{SUFFIX}", folder / f"{name}-keys.csv"
    league = League.create(name, settings, entrants, path)
    made = any(entrant.made for entrant in entrants)
    for file in (path, keys) if made else (path,):
        if file.exists():
            raise UsageError(f"{file} already exists: choose another name, or move the file away")
    if made:
        write_keys(entrants, keys)
    try:
        league.save(new=True)
    except VindibotError:
        if made:  # without the league, the keys in this file are useless
            keys.unlink(missing_ok=True)
        raise
    console = terminal()
    days = {fixture.day for fixture in league.fixtures}
    when = "on the first day" if settings.system == "swiss" or len(days) == 1 else f"on {len(days)} days"
    say(console, f"{path}: {counted(len(entrants), 'bot')}, {counted(len(league.fixtures), 'game')} {when}")
    if made:
        say(console, f"{keys}: the keys for the bots; this is the only copy")
    say(console, f"now: {shlex.join(['vindibot', 'serve', '--lan', '--league', str(path)])}")


@league_command.command(short_help="Print the standings of a league.")
@click.argument("file", type=PATH)
@click.option("--format", "output", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
def standings(file: Path, output: str) -> None:
    """Print the standings of the league in FILE. A server may play the league at the same time."""
    from vindibot.base import counted, plain_table, terminal
    from vindibot.server import League, as_csv

    league = League.load(file)
    rows = league.table()
    if output == "csv":
        click.echo(as_csv(rows), nl=False)
    elif output == "json":
        click.echo(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1))
    else:
        played = len(league.fixtures) - len(league.pending())
        title = f"{league.name}: {played} of {counted(len(league.fixtures), 'game')} decided"
        heads = ("", "bot", "points", "games", "won", "drawn", "lost", "gold")
        table = plain_table(*heads, left=("bot",), title=title)
        for row in rows:
            numbers = (row.games, row.wins, row.draws, row.losses, row.gold)
            table.add_row(str(row.rank), row.name, f"{row.points:.2f}", *map(str, numbers))
        terminal().print(table, markup=False)
