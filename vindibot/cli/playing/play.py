"""``vindibot play``: play games with a bot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from vindibot.cli.completion import complete_bots, complete_configs, complete_maps
from vindibot.cli.options import continuation, from_options, known_variables, option_names, overrides, settings_options
from vindibot.config.settings import PlaySettings

#: Settings without an option. The key has none because every user of the machine can read a command line. The others are for
#: experts.
HIDDEN = {"key", "key_file", "allow_old_domain", "join_timeout_s", "connect_timeout_s", "time.margin_ms"}


@click.command("play", short_help="Play games with a bot.")
@click.option(
    "--config",
    "-c",
    metavar="FILE",
    help="a configuration file, or the name of a built-in configuration: training, arena",
    shell_complete=complete_configs,
)
@from_options
@settings_options(
    PlaySettings,
    hidden=HIDDEN,
    completes={"bot": complete_bots, "against": complete_bots, "map": complete_maps},
)
def play_command(
    config: str | None,
    source: Path | None,
    turn: int | None,
    game: str | None,
    hero: int | None,
    **options: Any,
) -> None:
    """Play games with a bot.

    If a terminal or the browser shows a single game on our own server, this game takes about a minute (--pace). In a terminal
    these keys change the pace. Ctrl-Z stops the command between two moves:

    \b
      space           pause and go on           + and -         faster and slower
      n, right        one move                  down            one round
      e, End          the rest at once          q               quit

    Without --server the command starts a server on this machine and plays a training game on a new map. All options can also be
    set in a configuration file (--config), or by environment variables such as VINDIBOT_ROUNDS=100 or
    VINDIBOT_TIME__MARGIN_MS=120. So can the options of all other commands that have --config. The key for a server comes from
    the variable VINDIBOT_KEY, from a key file or from the configuration.

    With --from, the games go on from a turn of an earlier game, with its board and its length. Our bot takes the place of one
    hero. The other heroes are played by the bots of the earlier game, or by --against. After the games, the command compares the
    gold at the end with the earlier game.

    \b
    Examples:
      vindibot play                                        our server, a training game, the bot "seed"
      vindibot play --against sparring/hunter              seed against three bots that attack weaker heroes
      vindibot play -c arena --server http://HOST:9000     an arena game on a server
      vindibot play --open                                 in the browser, with the votes
      vindibot play --games 20 --parallel 2
      vindibot play --from last --turn 212 --bot mybot --games 10
    """
    from vindibot.base.console import terminal
    from vindibot.config.load import load_play
    from vindibot.session.play import play_games

    loaded = load_play(config, overrides(options), option_names=option_names(PlaySettings), others=known_variables)
    sys.exit(play_games(loaded, terminal(), continuation(source, turn, game, hero)))
