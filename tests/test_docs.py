"""What the documents show is what there is: tutorials are followed to the letter, commands understood, files there."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shutil
import sys
from contextlib import nullcontext, suppress
from pathlib import Path

import click
import pytest

from tests.support.documents import DOCUMENTS, TOP, blocks, commands, follow, vindibot_words
from tests.support.installed import install, shims
from vindibot.base.errors import UsageError
from vindibot.cli.main import main

pytestmark = pytest.mark.timeout(300)


def environment(programs: Path, **more: str) -> dict[str, str]:
    """That of somebody who has `programs` on his PATH, and nothing else of ours."""
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return plain | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"} | more


def follow_the_first_bot(folder: Path, around: dict[str, str]) -> None:
    """Follow the tutorial, and look at what came of it."""
    printed = follow((TOP / "docs" / "first-bot.md").read_text(), folder, around)
    assert "game 1: finished" in printed["vindibot play --bot bot.toml --against sparring/hunter"]
    assert "15 passed" in printed["python -m pytest"], "8 of the project, 7 of the new trait"
    assert "6 games in 1 block" in printed["vindibot arena --match bot.toml seed --blocks 1"]
    (game,) = (path for path in (folder / "mybot" / "recordings").iterdir() if path.name != "sample.jsonl")
    assert '"label":"coward","weight":10.0,"votes":[' in game.read_text(), "its own trait voted in a worker"
    assert (folder / "mybot" / "sample.html").exists()
    for command in blocks((folder / "mybot" / "README.md").read_text(), "console"):
        shown = [line.removeprefix("$ ") for line in command.text.splitlines()]
        assert set(shown) <= set(printed), "the project's own README has no command that is not tried here"


@pytest.mark.slow
def test_the_first_bot(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    follow_the_first_bot(folder, environment(shims(tmp_path / "bin"), VINDIBOT_ROUNDS="10"))


@pytest.mark.slow_long
@pytest.mark.timeout(3600)
def test_the_first_bot_from_an_installed_wheel(tmp_path: Path) -> None:
    """Outside any checkout, in a new environment, with kernels that nobody has compiled yet."""
    programs = install(tmp_path)
    follow_the_first_bot(tmp_path, environment(programs, NUMBA_CACHE_DIR=str(tmp_path / "kernels")))


def test_the_session_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one in the folder of the project that `vindibot init` writes."""
    (session,) = blocks((TOP / "docs" / "first-bot.md").read_text(), "pycon")
    monkeypatch.syspath_prepend(TOP / "config" / "project")
    monkeypatch.delitem(sys.modules, "coward", raising=False)
    test = doctest.DocTestParser().get_doctest(session.text, {}, "first-bot.md", None, None)
    told: list[str] = []
    assert doctest.DocTestRunner().run(test, out=told.append) == (0, len(test.examples)), "".join(told)
    sys.modules.pop("coward")  # others have one too


@pytest.mark.slow_long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("document", "heading"),
    [("anytime.md", ""), ("viewer.md", "\n## Notes"), ("arena.md", "\n## A ladder"), ("positions.md", "")],
)
def test_page_is_followed(tmp_path: Path, document: str, heading: str) -> None:
    text = (TOP / "docs" / document).read_text()
    section = text.partition(heading)[2].partition("\n## ")[0] if heading else text
    assert len(follow(section, tmp_path, environment(shims(tmp_path / "bin")))) >= 2


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="one of the two programs needs curl")
def test_bots_in_other_languages(tmp_path: Path) -> None:
    text = (TOP / "docs" / "other-languages.md").read_text()
    printed = follow(text, tmp_path, environment(shims(tmp_path / "bin")))
    assert len(printed) == 6
    for said in printed.values():
        assert "How games ended" not in said, f"somebody forfeited:\n{said}"


@pytest.mark.slow_long
@pytest.mark.timeout(3600)
def test_the_samples_of_the_arena(tmp_path: Path) -> None:
    text = (TOP / "docs" / "arena.md").read_text()
    samples = [block.text for block in blocks(text, "console") if "--results" in block.text]
    assert len(samples) == 2
    follow("".join(f"```console\n{sample}```\n" for sample in samples), tmp_path, environment(shims(tmp_path / "bin")))


@pytest.mark.slow_long
@pytest.mark.timeout(3600)
def test_a_net_is_trained_and_measured_as_the_page_on_learning_says(tmp_path: Path) -> None:
    """With fewer moves of the net, fewer games and shorter games."""
    page = (TOP / "docs" / "learn.md").read_text()
    text = page.partition("## Imitate")[0]
    samples = "".join(block.text for block in blocks(text, "console"))
    samples = samples.replace("--minutes 20", "--decisions 20000 --threads 1 --hidden 16 --against stay")
    samples = re.sub(r" --blocks \d+", "", samples)
    samples = re.sub(r"(?m)^(\$ vindibot (?:arena|learn match) .*)$", r"\1 --blocks 2", samples)
    around = environment(shims(tmp_path / "bin"), VINDIBOT_ROUNDS="10")
    printed = follow(f"```console\n{samples}```\n", tmp_path, around)
    assert len(printed) == 5
    assert {path.name for path in (tmp_path / "mynet").iterdir()} == {"net.npz", "bot.toml", "report.html", "run.npz"}
    rows = printed["vindibot learn match learned mynet/net.npz --against seed --against malvert --blocks 2"].splitlines()[-6:]
    rivals = ("seed", "malvert", "all")
    assert [row.split()[:2] for row in rows] == [[net, rival] for rival in rivals for net in ("learned", "mynet")]
    value = re.sub(r"--blocks \d+", "--blocks 8", page.partition("## Value")[2]).replace("--nodes 300", "--nodes 20")
    value = value.replace("cup.games.jsonl", "cup.games.jsonl --every 1")
    assert len(follow(value, tmp_path, environment(shims(tmp_path / "more"), VINDIBOT_ROUNDS="40"))) == 3
    assert "[traits.search.weights]" in (tmp_path / "searcher-fitted.toml").read_text()


@pytest.mark.parametrize("document", ["votes.md", "traits.md", "reference/games.md"])
def test_the_examples_of(document: str) -> None:
    """Blocks of Python that stand alone are true; later ones go on with what earlier ones made."""
    names: dict[str, object] = {}
    examples = list(blocks((TOP / "docs" / document).read_text(), "python"))
    assert examples
    for block in examples:
        exec(block.text, names)


def test_the_bot_files_that_explain_bot_files(tmp_path: Path) -> None:
    from vindibot.config.bots import load_bot

    mine, brave = blocks((TOP / "docs" / "votes.md").read_text(), "toml")
    (tmp_path / "mine.toml").write_text(mine.text)
    (tmp_path / "brave.toml").write_text(brave.text)
    bot = load_bot(str(tmp_path / "mine.toml"))
    assert "look-ahead" not in {trait.label for trait in bot.traits}
    assert {"combat", "second-finder"} <= {trait.label for trait in bot.traits}
    traits = {trait.label: trait.parameters for trait in load_bot(str(tmp_path / "brave.toml")).traits}
    assert traits["rollout"]["params"] == {"drink": 55}
    assert len(traits["search"]["weights"]) == 18


COMMANDS = {(path.name, *words): words for path in DOCUMENTS for words in vindibot_words(path.read_text())}


@pytest.mark.parametrize("words", list(COMMANDS.values()), ids=[" ".join(key) for key in COMMANDS])
def test_every_command_is_understood(words: list[str]) -> None:
    if not words or words[-1] in ("--help", "--version"):
        return
    context = click.Context(main)
    command: click.Command | None = main
    name = "vindibot"
    while isinstance(command, click.Group):
        name, *words = words
        command = command.get_command(context, name)
    assert command is not None, name
    with suppress(click.BadParameter, UsageError) if _names_a_file(words) else nullcontext():
        command.make_context(name, list(words), parent=context)


def _names_a_file(words: list[str]) -> bool:
    """Whether the reader's own files are meant, which are not here."""
    return "last" in words or any(re.search(r"\.(jsonl|json|csv|toml|key)$", word) for word in words)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_files_it_names_are_there(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        assert (path.parent / target).exists(), target


def test_the_index_names_every_page() -> None:
    index = (TOP / "docs" / "README.md").read_text()
    pages = {path.name for path in (TOP / "docs").glob("*.md")} - {"README.md"}
    assert pages == set(re.findall(r"\]\((\w[\w-]*\.md)\)", index))


def test_contributing_has_the_commands_of_the_checks() -> None:
    checks = (TOP / ".ci" / "run").read_text().replace('"$work/venv/bin/', ".venv/bin/").replace('"', "")
    readme = [command.words for command in commands((TOP / "README.md").read_text())]
    found = [command.words.partition("#")[0].strip() for command in commands((TOP / "CONTRIBUTING.md").read_text())]
    assert len(found) >= 8
    for words in found:
        if module := re.fullmatch(r"\.venv/bin/python -m (tests\.[\w.]+)", words):
            assert importlib.util.find_spec(module[1]), words
        elif " -m pytest" in words:
            assert any(words in line for line in readme) or words.startswith(".venv/bin/python -m pytest "), words
        else:
            assert words in checks or os.access(TOP / words.split()[0], os.X_OK), words
    assert {f".venv/bin/{tool}" for tool in ("ruff check .", "ruff format --check .", "mypy")} <= set(found)


def test_the_page_of_commands_tells_of_every_command() -> None:
    page = (TOP / "docs" / "commands.md").read_text()
    for name in main.list_commands(click.Context(main)):
        assert f"vindibot {name}" in page, name
