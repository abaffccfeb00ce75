"""The bots that ship play as they did, or their versions say that they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from behaviours.registry import BUILT_IN, find
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
