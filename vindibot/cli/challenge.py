"""``vindibot challenge``: a page to play in, against any bots."""

from __future__ import annotations

from typing import Any

import click

from vindibot.challenge import ChallengeSettings
from vindibot.cli.completion import complete_bots, complete_maps
from vindibot.cli.options import option_names, overrides, settings_options

#: Options that are not spelled like their key.
SPELLED = {
    "recording.enabled": "--recording",
    "recording.folder": "--recordings",
    "pool.in_process": "--in-process",
    "pool.workers": "--workers",
    "pool.nodes": "--nodes",
    "your_limit_s": "--your-limit",
}


def _challenge(bots: tuple[str, ...], config: str | None, lan: bool, open_page: bool, **options: Any) -> None:
    from vindibot.base import terminal
    from vindibot.challenge import challenge
    from vindibot.config import load_config
    from vindibot.games import refusal

    names = option_names(ChallengeSettings, SPELLED)
    loaded = load_config(ChallengeSettings, config, overrides(options), environ={}, option_names=names)
    if loaded.settings.margin_ms >= loaded.settings.limit_ms:
        raise loaded.refuse("margin_ms", "must be less than limit_ms, or the bots have no time to think")
    recording = loaded.settings.recording
    if recording.enabled and (problem := refusal(recording.folder)):
        raise loaded.refuse("recording.folder", problem)
    challenge(loaded.settings, bots, terminal(), lan=lan, open_page=open_page)


def _parameters() -> list[click.Parameter]:
    return [
        click.Argument(["bots"], metavar="[BOT]...", nargs=-1, shell_complete=complete_bots),
        click.Option(["--open", "open_page"], is_flag=True, help="open the page in the browser"),
        click.Option(["--lan"], is_flag=True, help="let others in this network play too, and your phone; print the address"),
        click.Option(["--config", "-c", "config"], metavar="FILE", help="a file with settings: a line  key = value  for each"),
        *settings_options(ChallengeSettings, spelled=SPELLED, completes={"map": complete_maps}),
    ]


challenge_command = click.Command(
    "challenge",
    callback=_challenge,
    params=_parameters(),
    short_help="Play against bots yourself, in the browser.",
    help="""Play against bots yourself, in the browser.

Starts a game server on this machine with a page in which you choose opponents, map and pace, and steer a hero with the arrow
keys or by touch; after each move you can see what every bot voted. Each BOT is a bot file, or the name of one; without any
it is "seed". The page also offers all bot files of this folder. Ctrl-C ends it.

\b
Examples:
  vindibot challenge --open                 you against three seeds
  vindibot challenge mybot.toml malvert     two bots that take the three seats in turn
  vindibot challenge --map m1 --lan         on a phone: open the address that is printed
""",
)
