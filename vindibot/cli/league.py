"""``vindibot league``: make a league from a roster, look at its standings."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from vindibot.base import UsageError, VindibotError
from vindibot.cli.options import option_names, overrides, settings_options
from vindibot.server import LeagueSettings

SPELLED = {"time_limit_ms": "--limit-ms", "absence_timeout_s": "--absence-timeout"}
PATH = click.Path(path_type=Path)


@click.group(name="league", short_help="Make a league of bots for `vindibot serve`, and see how it stands.")
def league_command() -> None:
    """A league of bots, from one command to the table.

    \b
      vindibot league new spring class.csv             makes spring.league.json and hands out the keys
      vindibot serve --lan --league spring.league.json plays it; the page /leagues/spring shows how it stands
    """


def _new(name: str, roster: Path, folder: Path, config: str | None, **options: Any) -> None:
    from vindibot.base import terminal
    from vindibot.config import load_config
    from vindibot.server import SUFFIX, League, read_roster, write_keys

    loaded = load_config(
        LeagueSettings, config, overrides(options), environ={}, option_names=option_names(LeagueSettings, SPELLED)
    )
    entrants = read_roster(roster)
    path, keys = folder / f"{name}{SUFFIX}", folder / f"{name}-keys.csv"
    league = League.create(name, loaded.settings, entrants, path)
    made = any(entrant.made for entrant in entrants)
    for file in (path, keys) if made else (path,):
        if file.exists():
            raise UsageError(f"{file} is there already: choose another name, or move it away")
    if made:
        write_keys(entrants, keys)
    try:
        league.save(new=True)
    except VindibotError:
        if made:  # keys of no league
            keys.unlink(missing_ok=True)
        raise
    console = terminal()
    days = {fixture.day for fixture in league.fixtures}
    when = "on the first day" if loaded.settings.system == "swiss" or len(days) == 1 else f"on {len(days)} days"
    console.print(f"{path}: {len(entrants)} bots, {len(league.fixtures)} games {when}", highlight=False)
    if made:
        console.print(f"{keys}: the keys to hand out; they are kept nowhere else", highlight=False)
    console.print(f"now: vindibot serve --lan --league {path}", highlight=False)


def _maps(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Maps as texts: names stay names, files are read."""
    from vindibot.config import map_text

    if value is None:
        return None
    return tuple(map_text(word.strip()) or word.strip() for word in value.split(",") if word.strip())


def _options() -> list[click.Parameter]:
    found: list[click.Parameter] = [
        click.Argument(["name"]),
        click.Argument(["roster"], type=PATH),
        click.Option(["--folder"], type=PATH, default=Path(), help="where the league and the keys are written  [default: here]"),
        click.Option(["--config", "-c", "config"], metavar="FILE", help="a file with settings: a line  key = value  for each"),
        *settings_options(LeagueSettings, spelled=SPELLED),
    ]
    for option in found:
        if option.name == "maps":
            option.callback = _maps
    return found


league_command.add_command(
    click.Command(
        "new",
        callback=_new,
        params=_options(),
        short_help="Make a league from a roster.",
        help="""Make a league called NAME from a ROSTER: a CSV file with a line for each bot, its name and perhaps a key of 8
characters, or a JSON file. Bots without a key get one, written to NAME-keys.csv.

\b
Examples:
  vindibot league new spring class.csv
  vindibot league new cup class.csv --table duel --system swiss --seatings 6 --maps m1,m3
""",
    )
)


@league_command.command(short_help="Print the standings of a league.")
@click.argument("file", type=PATH)
@click.option("--format", "shape", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
def standings(file: Path, shape: str) -> None:
    """Print the standings of the league in FILE, also while a server plays it."""
    from rich.table import Table

    from vindibot.base import terminal
    from vindibot.server import League, as_csv

    league = League.load(file)
    rows = league.table()
    if shape == "csv":
        click.echo(as_csv(rows), nl=False)
    elif shape == "json":
        click.echo(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1))
    else:
        played = len(league.fixtures) - len(league.pending())
        table = Table(title=f"{league.name}: {played} of {len(league.fixtures)} games decided")
        for heading in ("", "bot", "points", "games", "won", "drawn", "lost", "gold"):
            table.add_column(heading, justify="left" if heading == "bot" else "right")
        for row in rows:
            numbers = (row.games, row.wins, row.draws, row.losses, row.gold)
            table.add_row(str(row.rank), row.name, f"{row.points:g}", *map(str, numbers))
        terminal().print(table, markup=False)
