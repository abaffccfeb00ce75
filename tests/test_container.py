"""The container of the server: its file is well formed, the files that it copies are there, and its commands are ours.

No container engine is needed. The format is that of Dockerfiles.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from tests.support.paths import TOP
from vindibot.cli.main import main

FILE = TOP / "docs" / "deploy" / "Containerfile"
#: Instructions of the format, without those that are deprecated or for builds upon this image.
INSTRUCTIONS = {
    *("FROM", "ARG", "ENV", "WORKDIR", "COPY", "ADD", "RUN", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "LABEL", "SHELL"),
    *("HEALTHCHECK", "ENTRYPOINT", "CMD"),
}
PROGRAM = "/opt/vindibot/bin/vindibot"


class Instruction(NamedTuple):
    """One instruction. `stage` is the number of its stage, from 0."""

    stage: int
    name: str
    words: str


def instructions(text: str) -> list[Instruction]:
    """All instructions. Raises ValueError for a line that is none."""
    found: list[Instruction] = []
    stage = -1
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        name, _, words = line.partition(" ")
        if name not in INSTRUCTIONS or not words.strip() or (stage < 0 and name not in ("FROM", "ARG")):
            raise ValueError(f"no instruction: {line}")
        stage += name == "FROM"
        found.append(Instruction(stage, name, words.strip()))
    return found


FOUND = instructions(FILE.read_text())
LAST = FOUND[-1].stage


def words_of(name: str, stage: int | None = None) -> list[str]:
    return [one.words for one in FOUND if one.name == name and stage in (None, one.stage)]


def environment(stage: int) -> dict[str, str]:
    return dict(word.split("=", 1) for words in words_of("ENV", stage) for word in shlex.split(words))


def copied() -> Iterator[tuple[int, str, list[str]]]:
    """Each file that is copied: the stage, the stage that it comes from or "", the sources and the target."""
    for one in FOUND:
        if one.name == "COPY":
            words = shlex.split(one.words)
            options = dict(word.removeprefix("--").split("=", 1) for word in words if word.startswith("--"))
            yield one.stage, options.get("from", ""), [word for word in words if not word.startswith("--")]


def command() -> list[str]:
    """The program that the container runs, with its arguments."""
    (entry,), (arguments,) = words_of("ENTRYPOINT", LAST), words_of("CMD", LAST)
    return [*json.loads(entry), *json.loads(arguments)]


def parsed(words: list[str]) -> click.Context:
    """The command line of a command of ours, understood."""
    context = click.Context(main)
    found = main.get_command(context, words[0])
    assert found is not None, words
    return found.make_context(words[0], words[1:], parent=context)


def test_it_has_two_stages() -> None:
    assert LAST == 1
    images = [re.fullmatch(r"(\S+:(\d+\.\d+)-slim)(?: AS (\w+))?", words) for words in words_of("FROM")]
    assert all(images)
    assert len({image[1] for image in images if image}) == 1, "kernels are for one version of Python"
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    assert images[0] is not None
    assert f"Programming Language :: Python :: {images[0][2]}" in project["classifiers"]


def test_the_files_that_it_copies_are_there() -> None:
    stages = {words.partition(" AS ")[2] for words in words_of("FROM")} - {""}
    outputs = {Path("/opt/vindibot"), Path(environment(0)["NUMBA_CACHE_DIR"])}
    for stage, source, (*names, target) in copied():
        assert names
        assert len(names) == 1 or target.endswith("/")
        for name in names:
            if stage == 0:
                assert not source
                assert (TOP / name).exists(), name
            else:
                assert source in stages
                assert Path(name) in outputs
                assert name == target, "an environment of Python works in its own place only"


def test_it_copies_all_that_the_package_is_built_from() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text())
    build = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {"pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]}
    needed |= {*build["packages"], *build["force-include"]}
    names = [name for stage, _, (*names, _) in copied() if stage == 0 for name in names]
    assert sorted(names) == sorted(needed)


def test_the_commands_are_ours() -> None:
    program, *words = command()
    assert program == PROGRAM
    serving = parsed(words)
    ran = [line.removeprefix(PROGRAM).split() for line in words_of("RUN", 0) if line.startswith(PROGRAM)]
    assert len(ran) == 1, "kernels are compiled once"
    assert ran[0] == ["warm"]
    assert words_of("EXPOSE", LAST) == [serving.params["port"]]
    assert serving.params["host"] == "0.0.0.0", "loopback cannot be reached from outside of the container"
    (volume,) = words_of("VOLUME", LAST)
    assert Path(serving.params["db"]).parent == Path(volume)


def test_the_server_is_no_superuser_and_owns_what_it_writes() -> None:
    (user,) = words_of("USER", LAST)
    (made,) = words_of("RUN", LAST)
    (volume,) = words_of("VOLUME", LAST)
    assert re.search(rf"useradd .*--uid \d{{4,}} .*\b{user}\b", made)
    assert re.search(rf"install -d -o {user} -g {user} {volume}$", made)
    kernels = environment(LAST)["NUMBA_CACHE_DIR"]
    assert kernels == environment(0)["NUMBA_CACHE_DIR"]
    assert any(words.startswith(f"--from=build --chown={user}:{user} {kernels} ") for words in words_of("COPY", LAST))
    names = [one.name for one in FOUND if one.stage == LAST]
    assert names.index("RUN") < names.index("USER") < names.index("ENTRYPOINT")


def test_the_document_builds_this_file() -> None:
    text = (TOP / "docs" / "deploy.md").read_text()
    assert f"-f {FILE.relative_to(TOP)} " in text
    assert f"-f {FILE.relative_to(TOP)} " in FILE.read_text()
    (volume,), (port,) = words_of("VOLUME", LAST), words_of("EXPOSE", LAST)
    assert f"-v vindibot:{volume} " in text
    assert f"-p {port}:{port} " in text


@pytest.mark.parametrize("text", ["COPY a b", "FROM a\nCOPI a b", "FROM a\nRUN"])
def test_the_test_could_fail(text: str) -> None:
    with pytest.raises(ValueError, match="no instruction"):
        instructions(text)
