"""The command line: ``vindibot play``, ``vindibot serve``, ``vindibot verify``.

Commands import what they need when they run, so that ``vindibot --help`` costs nothing. Exit codes: 0 all is well, 1 a run
that failed, 2 a command or configuration that cannot be, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

from vindibot import __version__
from vindibot.errors import VindibotError
from vindibot.settings import WORDS, PlaySettings

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


class Commands(click.Group):
    """The commands, in the order in which a newcomer meets them; their errors become messages and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().main(*args, **kwargs)
        except VindibotError as problem:
            click.echo(f"{click.style('error', fg='red', bold=True)}: {problem.message}", err=True)
            sys.exit(problem.exit_code)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(130)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="vindibot")
def main() -> None:
    """Write, run, watch, compare and improve bots for the game Vindinium.

    `vindibot play` is the place to begin: a whole game against a server that it brings along.
    """


def _settings(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """All keys of a model with their fields."""
    for name, info in model.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _settings(kind, (*path, name))
        else:
            yield ".".join((*path, name)), info


def _spelled(key: str) -> str:
    return SPELLED.get(key, "--" + key.replace(".", "-").replace("_", "-"))


def _option(key: str, info: Any) -> click.Option:
    """The option for a setting. Texts are checked with the other layers of the configuration, not here."""
    default = WORDS.get(key, info.default)
    shown = f"  [default: {default}]" if default not in ("", None) and not isinstance(default, bool) else ""
    name = _spelled(key)
    if info.annotation is bool:
        on = "on" if info.default else "off"
        return click.Option(
            [f"{name}/--no-{name[2:]}", key.replace(".", "__")], default=None, help=f"{info.description}  [default: {on}]"
        )
    metavar = {"int": "N", "float": "NUMBER"}.get(getattr(info.annotation, "__name__", ""), "VALUE")
    choices = getattr(info.annotation, "__args__", ())
    if choices and all(isinstance(choice, str) for choice in choices):
        metavar = "|".join(choices)
    return click.Option([name, key.replace(".", "__")], default=None, metavar=metavar, help=f"{info.description}{shown}")


def _play_options() -> list[click.Parameter]:
    config = click.Option(
        ["--config", "-c", "config"],
        metavar="FILE",
        help="a configuration file, or the name of one that ships with vindibot: training, arena",
    )
    return [config, *(_option(key, info) for key, info in _settings(PlaySettings) if key not in HIDDEN)]


def _play(config: str | None, **options: Any) -> None:
    from vindibot.config import load_play
    from vindibot.console import terminal
    from vindibot.play import play

    overrides = {key.replace("__", "."): value for key, value in options.items()}
    names = {key: _spelled(key) for key, _ in _settings(PlaySettings)}
    loaded = load_play(config, overrides, option_names=names)
    sys.exit(play(loaded, terminal()))


main.add_command(
    click.Command(
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
)


@main.command(short_help="Run a game server that speaks the original protocol.")
@click.option("--host", default="127.0.0.1", show_default=True, help="address to listen on; the default is this machine alone")
@click.option("--port", default=9000, show_default=True, type=click.IntRange(0, 65535), help="port; 0 takes a free one")
@click.option("--limit-ms", default=1000, show_default=True, type=click.IntRange(1), help="milliseconds a player has for a move")
@click.option(
    "--pace",
    default="none",
    show_default=True,
    type=click.Choice(["none", "original"]),
    help="minimum times of moves: none, or those of the original server",
)
@click.option("--rounds", default=300, show_default=True, type=click.IntRange(1), help="rounds of an arena game")
@click.option("--seed", type=click.IntRange(0), help="seed of maps and server bots; without one every game is new")
@click.option(
    "--any-key/--registered-keys",
    default=True,
    show_default=True,
    help="let anybody in with any key of 8 characters, or only keys from the server's page /register",
)
def serve(host: str, port: int, limit_ms: int, pace: str, rounds: int, seed: int | None, any_key: bool) -> None:
    """Run a game server that speaks the original protocol, until Ctrl-C.

    Clients POST to /api/training for a game against the server's bots, or to /api/arena for one against each other: a game
    begins when four have joined.
    """
    from vindibot.console import terminal
    from vindibot.server import EmbeddedServer, ServerSettings, run_server
    from vindibot.warmup import warm

    console = terminal()
    warm(console)
    settings = ServerSettings.model_validate(
        {
            "host": host,
            "port": port,
            "time_limit_ms": limit_ms,
            "pace": pace,
            "rounds": rounds,
            "seed": seed,
            "keys": "any" if any_key else "registered",
        }
    )

    def ready(server: EmbeddedServer) -> None:
        console.print(f"serving on {server.url} (Ctrl-C ends it)", highlight=False)
        if host not in ("127.0.0.1", "localhost", "::1"):
            console.print("this address can be reached from other machines", style="yellow")

    run_server(settings, ready)


@main.command(short_help="Replay recorded games and compare every state.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def verify(files: tuple[Path, ...]) -> None:
    """Replay recorded games and compare every state.

    FILES hold one game in JSON per line, plain or gzipped. Exit code 1 if any state differs.
    """
    from vindibot.console import terminal
    from vindibot.verify import verify_files

    sys.exit(verify_files(files, terminal()))
