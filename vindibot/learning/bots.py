"""The files that ``vindibot learn`` writes: files of nets, and bots that have nets as opponent models or play one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from behaviours.net.network import Net, NetError, load_nets, save_nets
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.writing import Output, replace, short
from vindibot.config.bots import LONGEST_NAME, Bot
from vindibot.config.data_files import name_of_file
from vindibot.learning.imitation import COMMAND, Fit
from vindibot.tuning.bot_files import head, reference

#: The first line of the bots.
MARK = "# Made by vindibot learn"


def _check_ending(path: Path, ending: str, option: str) -> None:
    if path.suffix != ending:
        raise UsageError(f"{option}: the name of the file must end in {ending}")


@dataclass(frozen=True)
class NetFile:
    """A file of nets that the command `command` writes. `option` is the option of the command that names another file."""

    path: Path
    command: str
    option: str

    def check(self) -> None:
        """Raise `UsageError` if the name has another ending, or if there is a folder or a file that this command did not make."""
        _check_ending(self.path, ".npz", self.option)
        if self.path.is_dir():
            raise UsageError(f"{short(self.path)} is a folder: {self.option} names another file")
        if self.path.exists() and not self._is_ours():
            words = f"is there already and was not made by {self.command}: move it away, or {self.option} names another file"
            raise UsageError(f"{short(self.path)} {words}")

    def _is_ours(self) -> bool:
        try:
            return all(net.about.get("command") == self.command for net in load_nets(self.path, to_play=False))
        except NetError:
            return False

    def write(self, nets: Sequence[Net]) -> None:
        """Write the nets. Raises `UsageError` or `VindibotError` if this is impossible."""
        self.check()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace(self.path, save_nets(nets))
        except OSError as problem:
            raise VindibotError(f"{short(self.path)}: cannot be written: {problem.strerror or problem}") from None


@dataclass(frozen=True)
class ModelFiles:
    """The files for nets: the file of nets itself, and a bot file that uses it.

    `command` writes them, and `option` is its option that names other files.
    """

    nets: Path
    bot: Path
    option: str
    command: str = COMMAND

    def check(self) -> None:
        """Raise `UsageError` if the files have the same name, or if one of them is there and is not from this command."""
        _check_ending(self.bot, ".toml", self.option)
        _check_ending(self.nets, ".npz", self.option)
        self._output.check()
        self._net_file.check()

    @property
    def _output(self) -> Output:
        return Output(self.bot, MARK, self.command, f"{self.option} names another file")

    @property
    def _net_file(self) -> NetFile:
        return NetFile(self.nets, self.command, self.option)

    def write(self, fits: Sequence[Fit], text: str) -> None:
        """Write the nets, and the bot file with this text. Raises `UsageError` or `VindibotError` if this is impossible."""
        self.check()
        self._net_file.write([fit.net for fit in fits])
        self._output.write(text)


def models_of(bot: Bot, trait: str, files: ModelFiles) -> list[str]:
    """Return the files of nets that the trait with the label `trait` has as opponent models, as ``files.bot`` names them.

    Raises `UsageError` if the bot has no trait with this label and the parameter `learned`, and if `files` are files of the bot.
    """
    found = {spec.label: behaviour for spec, behaviour in bot.build() if "learned" in type(behaviour).model_fields}
    if trait not in found:
        raise UsageError(f"--trait {trait}: {bot.name} has no trait {trait!r} with the parameter learned")
    known = [Path(path) for path in getattr(found[trait], "learned", ())]
    if files.bot.resolve() == Path(bot.path) or files.nets.resolve() in known:
        raise UsageError(f"{files.option}: {bot.name} uses {short(files.bot)} or {short(files.nets)} itself; name another file")
    return [name_of_file(path, files.bot.parent) for path in known]


def modelling_text(bot: Bot, trait: str, known: Sequence[str], fits: Sequence[Fit], files: ModelFiles) -> str:
    """Return the text of a bot file for a bot that extends `bot` and has these nets as further opponent models.

    `known` has the models that the trait with the label `trait` has already.
    """
    comments = [
        f"{files.nets.name} has opponent models fitted to recorded moves, one for each bot below.",
        *_accuracies(fits),
    ]
    content = {
        "name": f"{bot.name}-learned"[:LONGEST_NAME],
        "version": bot.version,
        "extends": reference(bot, files.bot),
        "traits": {trait: {"learned": [*known, files.nets.name]}},
    }
    return head(comments, MARK) + tomli_w.dumps(content)


def playing_text(fits: Sequence[Fit], files: ModelFiles) -> str:
    """Return the text of a bot file for a bot that plays the first of these nets alone."""
    comments = [f"It plays the net of {fits[0].net.name} in {files.nets.name}.", *_accuracies(fits)]
    content = {"name": files.bot.stem[:LONGEST_NAME], "traits": {"learned": {"net": files.nets.name}}}
    return head(comments, MARK) + tomli_w.dumps(content)


def _accuracies(fits: Sequence[Fit]) -> list[str]:
    return [
        "The percentage is the share of the bot's moves that its net predicts, on maps that the fit did not use.",
        *(f"  {fit.net.name}: {fit.accuracy:.1%} of {fit.held} moves" for fit in fits),
    ]
