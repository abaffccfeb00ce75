"""The bots that ship play as they did, or their versions say that they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from behaviours.registry import BUILT_IN, find
from tests.support import botgames
from tests.support.botgames import BOTS, FOLDER, file_of, moves_in, transcript, version_in
from vindibot.config.bots import load_bot


@pytest.mark.parametrize("path", BOTS, ids=lambda path: path.stem)
def test_a_bot_plays_as_it_did(path: Path) -> None:
    bot, kept = load_bot(path), file_of(path).read_text()
    found = transcript(bot)
    if moves_in(found) != moves_in(kept) and bot.version <= version_in(kept):
        first = next(now for now, then in zip(moves_in(found), [*moves_in(kept), ""], strict=False) if now != then)
        pytest.fail(
            f"{bot.name} plays otherwise than version {version_in(kept)} of it did, first in the round\n{first}\n"
            f"If that is meant, set version = {version_in(kept) + 1} in {path.name} and run: python tests/support/botgames.py"
        )
    assert found == kept, "run: python tests/support/botgames.py"


def test_every_bot_and_every_trait_has_a_game() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(file_of(path).name for path in BOTS)
    played = {spec.class_path for path in BOTS for spec in load_bot(path).traits}
    traits = {name: f"{find(name).__module__}:{find(name).__qualname__}" for name in BUILT_IN}
    assert not {name for name, path in traits.items() if path not in played}


def test_games_are_not_written_anew_under_the_same_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = tmp_path / "mine.toml"
    monkeypatch.setattr(botgames, "FOLDER", tmp_path / "games")
    monkeypatch.setattr(botgames, "TOP", tmp_path)
    monkeypatch.setattr(botgames, "BOTS", [bot])
    monkeypatch.setattr(botgames, "ROUNDS", 3)
    bot.write_text("[traits.mine-finder]\n")
    assert botgames.main() == 0
    kept = file_of(bot).read_text()
    bot.write_text("[traits.stay]\n")
    assert botgames.main() == 1
    assert "mine.toml: it plays otherwise than version 1 did: set version = 2" in capsys.readouterr().out
    assert file_of(bot).read_text() == kept
    bot.write_text("version = 2\n[traits.stay]\n")
    assert botgames.main() == 0
    assert version_in(file_of(bot).read_text()) == 2
    assert file_of(bot).read_text() != kept
