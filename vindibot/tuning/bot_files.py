"""Bot files that tuning writes: tuned bots, which extend another bot, and versions, which state all parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from vindibot.base.errors import UsageError
from vindibot.base.output.text import printable
from vindibot.base.writing import Output, create, short
from vindibot.config.bots import LONGEST_NAME, Bot, load_bot, name_to_load
from vindibot.config.data_files import data_paths, replaced_paths
from vindibot.tuning.space import full_parameters, split_key

#: The first line of a tuned bot.
MARK = "# Made by vindibot tune"


def tuned_text(bot: Bot, values: Mapping[str, Any], path: Path, comments: Sequence[str]) -> str:
    """Return the text of a bot file at `path`, for a bot that extends `bot` and has other values of some parameters.

    `values` has these values by key; a value is a number or a table. `comments` are the lines of the comment at the start. The
    new name is the name of `bot` with "-tuned", at most `LONGEST_NAME` characters.
    """
    traits: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        label, (*names, last) = split_key(bot, key)
        table = traits.setdefault(label, {})
        for name in names:
            table = table.setdefault(name, {})
        table[last] = rounded(value)
    content = {
        "name": f"{bot.name}-tuned"[:LONGEST_NAME],
        "version": bot.version,
        "extends": reference(bot, path),
        "traits": traits,
    }
    return head(comments) + _toml(content)


def _toml(content: Mapping[str, Any]) -> str:
    """Return a table as TOML. Each list of numbers is on one line."""
    return re.sub(r"\[\s+((?:[-+.\de]+,\s+)+)\]", _joined, tomli_w.dumps(content))


def _joined(numbers: re.Match[str]) -> str:
    return f"[{' '.join(numbers[1].split()).rstrip(',')}]"


def reference(bot: Bot, path: Path) -> str:
    """Return the value of `extends` in a bot file at `path` that extends `bot`: a name if possible, else the absolute path."""
    file = Path(bot.path)
    if file.parent == path.resolve().parent:
        return file.name
    return name_to_load(bot, path.resolve().parent) or str(file)


def write_tuned(path: Path, text: str) -> None:
    """Write the file of a tuned bot. Raises `UsageError` if the file exists and tuning has not made it."""
    Output(path, MARK, "vindibot tune", "--out names another file").write(text)


def head(comments: Sequence[str], mark: str = MARK) -> str:
    """Return the comment at the start of a file: `mark`, then the lines in `comments`."""
    return "".join(f"# {printable(line)}\n" if line else "#\n" for line in (mark.removeprefix("# ") + ".", *comments))


def rounded(value: Any) -> Any:
    """Return a value as it is written to TOML: floats are rounded to six significant digits."""
    if isinstance(value, Mapping):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) and math.isfinite(value) else value


def standalone_text(bot: Bot, name: str, version: int, comments: Sequence[str], files: Mapping[str, str]) -> str:
    """Return the text of a bot file that states all parameters of all traits.

    So later changes of defaults or of other files do not change this bot. `files` has the name of a copy for each data file.
    """
    traits = {}
    for spec, behaviour in bot.build():
        table = {"use": spec.use} if spec.use != spec.label else {}
        copies = {
            key: replaced_paths(one, lambda path: files[path]) for key, one in spec.parameters.items() if data_paths({key: one})
        }
        traits[spec.label] = table | {"weight": rounded(spec.weight)} | rounded(full_parameters(behaviour)) | copies
    return head(comments) + _toml({"name": name, "version": version, "traits": traits})


@dataclass(frozen=True)
class Family:
    """A family of versions: the files ``NAME-1.toml``, ``NAME-2.toml`` and so on in a folder."""

    name: str
    folder: Path

    def versions(self) -> dict[int, Path]:
        """Return the files of the versions by number, sorted."""
        pattern = re.compile(re.escape(self.name) + r"-(\d+)\.toml")
        found = {int(match[1]): path for path in self.folder.glob("*.toml") if (match := pattern.fullmatch(path.name))}
        return dict(sorted(found.items()))

    def bots(self) -> list[Bot]:
        """Return the bots of all versions, oldest first."""
        return [load_bot(str(path.resolve())) for path in self.versions().values()]

    def add(self, bot: Bot, comments: Sequence[str]) -> Path:
        """Write a bot as the next version, and return its path. Raises `UsageError` if a file cannot be written.

        The data files of the bot are copied beside it. Versions are never overwritten.
        """
        number = max(self.versions(), default=0) + 1
        name = f"{self.name}-{number}"
        path = self.folder / f"{name}.toml"
        files = list(dict.fromkeys(one for spec in bot.traits for one in data_paths(spec.parameters)))
        copies = {str(one): f"{name}-{place}{Path(one).suffix}" for place, one in enumerate(files, start=1)}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for one, copy in copies.items():
                target, content = self.folder / copy, Path(one).read_bytes()
                if not (target.is_file() and target.read_bytes() == content):  # from an attempt that failed
                    create(target, content)
            create(path, standalone_text(bot, name, number, comments, copies).encode())
        except OSError as problem:
            raise UsageError(f"{short(path)}: cannot be written: {problem.strerror or problem}") from None
        return path


def family_name(bot: Bot) -> str:
    """Return the name of a bot without the number of its version."""
    return re.sub(r"-\d+$", "", Path(bot.path).stem)
