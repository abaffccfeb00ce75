"""``vindibot challenge``: a page on which a person plays against bots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vindibot.challenge.settings import ChallengeSettings
from vindibot.cli.completion import complete_bots, complete_maps
from vindibot.cli.options import config_option, continuation, from_options, load_settings, overrides, settings_options

#: The names of the options whose names do not follow from the keys of their settings.
SPELLED = {"your_limit_s": "--your-limit"}


@click.command("challenge", short_help="Play against bots in the browser.")
@click.argument("bots", metavar="[BOT]...", nargs=-1, shell_complete=complete_bots)
@click.option("--open", "open_page", is_flag=True, help="open the page in the browser")
@click.option("--lan", is_flag=True, help="let other devices in this network play too, and print the address")
@config_option
@from_options
@settings_options(ChallengeSettings, spelled=SPELLED, completes={"map": complete_maps})
def challenge_command(
    bots: tuple[str, ...],
    config: str | None,
    source: Path | None,
    turn: int | None,
    game: str | None,
    hero: int | None,
    lan: bool,
    open_page: bool,
    **options: Any,
) -> None:
    """Play against bots in the browser.

    The command starts a game server on this machine. On a page of this server you choose opponents, map and pace, and steer a
    hero with the arrow keys or by touch. After each move the page shows the votes of every bot. Each BOT is a bot file, or the
    name of a bot. The default is "seed". The page also offers all bot files of the current folder. Ctrl-C stops the server.
    With --from, you go on from a turn of an earlier game against its bots.

    With --people 2 to 4, several people play one game. The command prints the address of a start page. This page has a link and
    a QR code for each person, starts the game, and then shows it, for example on a projector. Bots play the free heroes. A person
    who is late stays for this turn (--seconds). Use --lan if people play on other devices.

    \b
    Examples:
      vindibot challenge --open                 you against three seed bots
      vindibot challenge mybot malvert          the two bots take the three seats in turn
      vindibot challenge --map m1 --lan         on a phone: open the printed address
      vindibot challenge --people 4 --lan       four people against each other, each on a phone
      vindibot challenge --people 2 malvert     two people against two bots
      vindibot challenge --from last --turn 212 go on from this turn of the newest recording
    """
    from vindibot.base.console import terminal
    from vindibot.challenge.command import challenge

    loaded = load_settings(ChallengeSettings, config, overrides(options), SPELLED)
    start = continuation(source, turn, game, hero)
    challenge(loaded, bots, terminal(), lan=lan, open_page=open_page, start=start)
