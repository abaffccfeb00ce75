"""``vindibot play``."""

from __future__ import annotations

import sys
from typing import Any

import click

from vindibot.cli.completion import complete_bots, complete_configs, complete_maps
from vindibot.cli.options import option_names, overrides, settings_options
from vindibot.config import PlaySettings

#: Options that are not spelled like their key.
SPELLED = {
    "recording.enabled": "--recording",
    "recording.folder": "--recordings",
    "pool.in_process": "--in-process",
    "pool.workers": "--workers",
    "pool.nodes": "--nodes",
    "time.limit_ms": "--limit-ms",
    "time.margin_ms": "--margin-ms",
}
#: Settings without an option: a key on the command line can be read by every user of the machine.
HIDDEN = {"key"}


def _play_options() -> list[click.Parameter]:
    config = click.Option(
        ["--config", "-c", "config"],
        metavar="FILE",
        help="a configuration file, or the name of one that ships with vindibot: training, arena",
        shell_complete=complete_configs,
    )
    completes = {"bot": complete_bots, "against": complete_bots, "map": complete_maps}
    return [config, *settings_options(PlaySettings, spelled=SPELLED, hidden=HIDDEN, completes=completes)]


def _play(config: str | None, **options: Any) -> None:
    from vindibot.base import terminal
    from vindibot.config import load_play
    from vindibot.session import play_games

    loaded = load_play(config, overrides(options), option_names=option_names(PlaySettings, SPELLED))
    sys.exit(play_games(loaded, terminal()))


play_command = click.Command(
    "play",
    callback=_play,
    params=_play_options(),
    short_help="Play whole games with a bot.",
    help="""Play whole games with a bot.

Without a server it starts one of its own on this machine and plays a training game on a fresh map. Everything that can be
set here can also stand in a configuration file (--config) or in the environment: VINDIBOT_ROUNDS=100,
VINDIBOT_TIME__MARGIN_MS=120. The key for a server comes from VINDIBOT_KEY, a key file or the configuration.

\b
Examples:
  vindibot play                                        our server, a training game, the bot "seed"
  vindibot play --bot malvert --against seed           malvert against three times seed
  vindibot play -c arena --server http://HOST:9000     an arena game on a server
  vindibot play --games 20 --parallel 2 --display none
""",
)
