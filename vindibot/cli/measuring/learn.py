"""``vindibot learn``: learning to play, from games against oneself and from recorded games."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from vindibot.cli.completion import complete_bots
from vindibot.cli.options import PATH, number_option

#: The option for the share of the maps that only measure a fit.
holdout_option = click.option(
    "--holdout",
    type=click.FloatRange(0.05, 0.9),
    default=0.3,
    metavar="SHARE",
    help="share of the maps that are for validation only",
)


@click.group(name="learn", short_help="Learn a net that plays, or weights.")
def learn_command() -> None:
    """Learn to play from games (docs/learn.md).

    \b
      vindibot learn selfplay mynet --minutes 30      learns by games against itself, and writes mynet/bot.toml
      vindibot play --bot mynet                       plays a game with it
      vindibot learn selfplay mynet --resume          goes on after Ctrl-C
      vindibot learn match mynet/net.npz              plays a match alone against three copies of the bot seed
      vindibot learn imitate strong games.jsonl       learns how the bots in these games move
      vindibot learn value searcher games.jsonl       fits the weights of the bot's evaluation to these games
    """


@learn_command.command("selfplay", short_help="Learn by games of a net against itself.")
@click.argument("out", type=PATH)
@click.option("--minutes", type=click.FloatRange(0, min_open=True), metavar="N", help="train for N minutes in all  [default: 30]")
@number_option("--decisions", help="train until the net has made N moves in all; with --minutes, the first of both ends the run")
@click.option("--hidden", type=int, metavar="N", help="number of hidden units of each network, a multiple of 16  [default: 64]")
@click.option(
    "--threads", type=int, metavar="N", help="number of threads; another number gives another net  [default: all cores]"
)
@click.option("--seed", type=int, metavar="N", help="seed of the maps, games and first weights  [default: 1]")
@click.option("--rivals", multiple=True, type=PATH, metavar="FILE", help="a file of nets that are guests, too; repeatable")
@click.option("--from", "start", type=PATH, metavar="FILE", help="begin with the net in this file")
@click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", help="another setting, for example discount=0.995; repeatable"
)
@click.option("--against", default="seed", metavar="BOT", shell_complete=complete_bots, help="the bot of the short matches")
@click.option("--resume", is_flag=True, help="continue the run in the folder OUT")
@click.option("--idle", is_flag=True, help="run at the lowest priority, with all that runs in the same terminal")
def selfplay(out: Path, **options: Any) -> None:
    """Learn a net by games against itself, in the new folder OUT.

    The net plays games against itself, against former versions of itself, and against guests. Guests are the policies by which
    the trait rollout expects rivals to play, and the nets of --rivals. The net learns by PPO (reinforcement learning).

    Every ten seconds there is a row of numbers: the net's moves so far and per second, its mean reward, the entropy of its moves
    (0: it always makes the same move), the error of its values, and its deaths per 300 moves. Every three minutes the net plays
    short matches alone against three copies of a bot, and against three copies of its last snapshot.

    Ctrl-C saves the run, and --resume continues it. Then --minutes and --decisions are new totals, which count what the run has
    done before. After a crash, less than a minute is lost. With --decisions, equal settings
    and an equal number of threads give an equal net. With --minutes, the length of the run depends on the machine.

    \b
    Examples:
      vindibot learn selfplay mynet --minutes 20
      vindibot learn selfplay mynet --resume
      vindibot arena mynet seed --blocks 20
    """
    from vindibot.learning.selfplay import run_selfplay

    sys.exit(run_selfplay(out, **options))


@learn_command.command("match", short_help="Play matches of nets alone against bots or other nets.")
@click.argument("nets", metavar="NET...", nargs=-1, required=True, shell_complete=complete_bots)
@click.option(
    "--against",
    multiple=True,
    default=("seed",),
    metavar="RIVAL",
    shell_complete=complete_bots,
    help="a bot, or a file of nets (.npz), each of which is a rival; repeatable",
)
@number_option("--blocks", least=2, default=40, help="number of maps; four games on each")
@click.option("--seed", type=int, default=1, metavar="N", help="seed of the maps")
@number_option("--nodes", default=1000, help="most nodes per move of a bot")
def match(nets: tuple[str, ...], **options: Any) -> None:
    """Play matches of each NET alone against three copies of each rival.

    NET is a file of nets (.npz), whose first net plays, or a bot that plays a net alone. Against other nets, thousands of games
    are played in compiled code within minutes. The column deaths has the deaths of the net per game.

    Each match is played on the same random maps of all sizes, and the net has each seat once per map. The intervals are over the
    maps. If there are several nets, the last column compares each one with the first net on the same maps: the difference of the
    games won, with two standard errors. If there are several rivals, the last rows are of all matches of a net. After Ctrl-C, the
    table has the matches that are over.

    \b
    Examples:
      vindibot learn match mynet/net.npz
      vindibot learn match mynet/net.npz other/net.npz --against seed --against malvert --blocks 40
      vindibot learn match mynet/net.npz --against other/net.npz --blocks 100
    """
    from vindibot.learning.matches import run_matches

    sys.exit(run_matches(nets, **options))


@learn_command.command("imitate", short_help="Learn how bots move in recorded games.")
@click.argument("bot", shell_complete=complete_bots)
@click.argument("records", nargs=-1, type=PATH)
@click.option("--only", multiple=True, metavar="LABEL", help="learn only from the moves of this bot; repeatable")
@click.option("--trait", metavar="LABEL", help="the label of the trait that gets the models  [default: rollout]")
@holdout_option
@click.option(
    "--near",
    type=click.FloatRange(0, 1000, min_open=True),
    default=1.0,
    metavar="FACTOR",
    help="weight of moves with an enemy within 3 moves; other moves have weight 1",
)
@click.option("--hidden", type=int, default=0, metavar="N", help="number of hidden units, a multiple of 16; needs --net")
@click.option("--out", type=PATH, metavar="FILE", help="the bot with the models  [default: BOT-learned.toml]")
@click.option("--net", type=PATH, metavar="FILE", help="write no models, but nets that play alone; leave out BOT")
def imitate(bot: str, records: tuple[Path, ...], **options: Any) -> None:
    """Learn how the bots in RECORDS move: one net for each bot.

    RECORDS are files of game records, for example cup.games.jsonl of vindibot arena. The command writes a bot that extends BOT,
    and has the nets as further opponent models. The nets are in a file beside this bot.

    With --net, leave out BOT. Then the command writes the nets to FILE, and a bot that plays the first net alone.

    The table says how often each net predicts the moves of its bot on maps that the fit did not use, and how often the best
    built-in model of the trait rollout does. After Ctrl-C, the nets that are ready are written.

    \b
    Examples:
      vindibot learn imitate strong results/cup.games.jsonl --only mybot --out stronger.toml
      vindibot learn imitate results/cup.games.jsonl --only mybot --net copy.npz --hidden 32
    """
    from vindibot.learning.imitation import run_imitation

    sys.exit(run_imitation(bot, records, **options))


@learn_command.command("value", short_help="Fit the weights of an evaluation to recorded games.")
@click.argument("bot", shell_complete=complete_bots)
@click.argument("records", nargs=-1, required=True, type=PATH)
@click.option("--trait", default="search", metavar="LABEL", help="the label of the trait whose weights are fitted")
@click.option("--out", type=PATH, metavar="FILE", help="the bot with the weights  [default: BOT-fitted.toml]")
@number_option("--every", most=1000, default=10, help="number of rounds from one position of a game to the next")
@holdout_option
def value(bot: str, records: tuple[Path, ...], **options: Any) -> None:
    """Fit the weights of the evaluation of BOT to the results of the games in RECORDS.

    RECORDS are files of game records, for example cup.games.jsonl of vindibot arena; take a thousand games or more. The command
    writes a bot that extends BOT, and has the fitted weights: those that multiply a feature of the position.

    The table has the weights before and after the fit. The error is that of the evaluation as an estimate of the end of the game,
    on maps that the fit did not use. Only games can show whether the bot plays better (docs/learn.md).

    \b
    Examples:
      vindibot learn value searcher results/cup.games.jsonl
      vindibot learn value searcher results/*.games.jsonl --out mine.toml --every 5
    """
    from vindibot.learning.value import run_value

    run_value(bot, records, **options)
