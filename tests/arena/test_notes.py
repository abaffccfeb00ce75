"""What bots and programs say in games of the arena is kept in the game record, with its turn."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.arenabots import first_task, web_bot
from tests.support.paths import BOTS
from vindibot.arena.games import play_task
from vindibot.games import game_record
from vindibot.games.game_record import GameRecord
from vindibot.games.history import GameHistory
from vindibot.games.notes import GameNote

SCRIPT = "</script><script>alert(1)</script>"
#: A program that says the number of its turn in its message and on its standard error, and dies on the fourth turn.
PROGRAM = f"""
import sys
print("before the start", file=sys.stderr, flush=True)
size = int(input())
for _ in range(size + 1):
    input()
for turn in range(3):
    for _ in range(int(input())):
        input()
    print("thinks", turn, "token=abcdefgh", file=sys.stderr, flush=True)
    print("WAIT says", turn, {SCRIPT!r} if turn else "EXPERT_INPUT", flush=True)
    for _ in range(3):
        input()
input()  # the fourth turn has begun
print("unfinished", end="", file=sys.stderr, flush=True)
"""


def played(*bots: str, **settings: object) -> GameRecord:
    return game_record.loads(play_task(first_task(*bots, **settings)).record)


def test_a_program_that_speaks_the_line_protocol(tmp_path: Path) -> None:
    path = tmp_path / "speaks.py"
    path.write_text(PROGRAM)
    record = played(f"stdio:'{sys.executable}' '{path}'", "random", "random", "random")
    hero = record.names.index("speaks") + 1
    turns = [hero - 1, hero + 3, hero + 7]
    assert [(note.turn, note.source, note.text) for note in record.notes] == [
        (turns[0], "message", "says 0"),
        (turns[0], "stderr", "before the start"),
        (turns[0], "stderr", "thinks 0 token=********"),
        (turns[1], "message", f"says 1 {SCRIPT}"),
        (turns[1], "stderr", "thinks 1 token=********"),
        (turns[2], "message", f"says 2 {SCRIPT}"),
        (turns[2], "stderr", "thinks 2 token=********"),
        (turns[2] + 4, "stderr", "unfinished"),
    ]
    assert {note.hero for note in record.notes} == {hero}
    assert game_record.loads(game_record.dumps(record)) == record


def test_a_program_that_speaks_http() -> None:
    record = played(web_bot("floods"), "random", "random", "random")
    (note,) = record.notes
    hero = record.names.index("web_bot") + 1
    assert (note.source, note.hero, note.text[:3], note.turn % 4) == ("stderr", hero, "zzz", hero - 1)


def test_a_trait_of_a_bot(tmp_path: Path) -> None:
    (tmp_path / "speaking_traits.py").write_text((BOTS / "speaking_traits.py").read_text())
    (tmp_path / "speaker.toml").write_text('[traits.loud]\nuse = "speaking_traits:Speaks"\n')
    record = played(str(tmp_path / "speaker.toml"), "stay", "stay", "stay", rounds=3)
    hero, square = record.names.index("speaker") + 1, record.game_map().starts[record.names.index("speaker")]
    lives = [GameHistory.of(record).state(turn)["hero"]["life"].item(hero - 1) for turn in range(hero - 1, 12, 4)]
    assert record.notes == tuple(
        note
        for turn, life in zip(range(hero - 1, 12, 4), lives, strict=True)
        for note in (GameNote(turn, hero, "loud", SCRIPT), GameNote(turn, hero, "loud", f"life {life}", square))
    )


@pytest.mark.parametrize("note", [{"turn": -1}, {"hero": 5}, {"square": [0, 28]}, {"text": None}])
def test_a_record_with_a_wrong_note_is_refused(note: dict[str, object]) -> None:
    line = json.loads(game_record.dumps(played("stay", "stay", "stay", "stay", rounds=1)))
    line["notes"] = [{"turn": 0, "hero": 1, "source": "x", "text": "y"} | note]
    with pytest.raises(game_record.GameRecordError, match="notes"):
        game_record.loads(json.dumps(line))
