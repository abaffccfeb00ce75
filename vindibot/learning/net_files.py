"""Files of nets and of the bots that play them: reading and writing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from behaviours.net.network import Net, NetError, load_nets, save_nets
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.writing import Output, replace, short

#: The first line of the bots, without and with the sign of a comment.
MADE_BY = "Made by vindibot learn."
MARK = f"# {MADE_BY}"


def read_nets(path: Path) -> tuple[Net, ...]:
    """Return the nets of a file. Raises `UsageError` if it cannot be read."""
    try:
        return load_nets(path)
    except NetError as problem:
        raise UsageError(str(problem)) from None


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
            return all(net.about.get("command") == self.command for net in load_nets(self.path))
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
    """The files that the command `command` writes: a file of nets, and a bot file that uses it.

    `option` is the option of the command that names other files.
    """

    nets: Path
    bot: Path
    command: str
    option: str

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

    def write(self, nets: Sequence[Net], text: str) -> None:
        """Write the nets, and the bot file with this text. Raises `UsageError` or `VindibotError` if this is impossible."""
        self.check()
        self._net_file.write(nets)
        self._output.write(text)
