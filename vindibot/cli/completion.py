"""Completion of the command line: ``vindibot completion SHELL``, and the names of bots, maps and traits.

The shell runs this module at each press of the Tab key, so it imports nothing large.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from behaviours.registry import names
from vindibot.config.files import places

#: The shells for which there is a script.
SHELLS = ("bash", "zsh", "fish")
PROGRAM = "vindibot"


def _matching(words: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return the words that begin with `incomplete`. If there is no such word, or if `incomplete` begins a path, the shell
    completes file names."""
    if "/" not in incomplete and not incomplete.startswith((".", "~")):
        items = [CompletionItem(word) for word in dict.fromkeys(words) if word.startswith(incomplete)]
        if items:
            return items
    return [CompletionItem(incomplete, type="file")]


def _toml_files(folder: str) -> list[str]:
    """Return the names of TOML files in the current folder, and in its subfolder `folder` ("" for none).

    The result also has the names of built-in files, without the suffix. If `folder` is not empty, the result also has the names
    of folders that contain a ``bot.toml``.
    """
    current, *others = places()
    own = [path.name for path in sorted(current.glob("[!.]*.toml"))]
    own += [f"{folder}/{path.name}" for path in sorted((current / folder).glob("[!.]*.toml")) if folder]
    own += [path.parent.name for path in sorted(current.glob("[!.]*/bot.toml")) if folder]
    return own + [path.stem for place in others for path in sorted((place / folder).glob("[!.]*.toml"))]


def complete_bots(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the completions of a bot: bot files of the current folder, and built-in bots."""
    return _matching(_toml_files("bots"), incomplete)


def complete_configs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the completions of a configuration: files of the current folder, and built-in configurations."""
    return _matching(_toml_files(""), incomplete)


def complete_maps(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the completions of a map: names and numbers of built-in maps, and map files."""
    from sim.atlas import ATLAS

    numbered = [f"m{number}" for number in range(1, min(6, len(ATLAS)) + 1)]
    return _matching([*ATLAS, *numbered, *(path.name for path in sorted(Path.cwd().glob("*.map")))], incomplete)


def complete_traits(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the completions of a trait: the names of all traits."""
    return [CompletionItem(name) for name in names() if name.startswith(incomplete)]


@click.command("completion", short_help="Print a script for the completion of commands in your shell.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print a script for your shell. With this script, the Tab key completes commands, options, bots, maps and traits.

    Try it in bash or zsh: eval "$(vindibot completion bash)", with the name of your shell. Try it in fish: vindibot completion
    fish | source.

    \b
    Install it:
      vindibot completion bash >> ~/.bashrc
      vindibot completion zsh >> ~/.zshrc
      vindibot completion fish > ~/.config/fish/completions/vindibot.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    completer = kind(ctx.find_root().command, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE")
    click.echo(completer.source_template % completer.source_vars())
