"""``vindibot play --from``: games that go on from a turn of an earlier game, as a user plays them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sim.generator import generate
from tests.support.commands import invoke, printed, recorded, recordings
from tests.support.recorded import raw, record, record_of, states_of
from vindibot.games import game_record
from vindibot.games.files.recorded_turn import Continuation
from vindibot.games.files.recording import read_recording
from vindibot.games.history import GameHistory
from vindibot.games.protocol import Player
from vindibot.session.play_report import rivals_of

#: A bot whose trait votes with the number of turns that it remembers.
MINE = 'name = "mine"\nextends = "malvert"\n\n[traits.memory]\nuse = "memory:Memory"\nweight = 0.001\n'
MEMORY = """
from behaviours import Behaviour, View, Votes


class Memory(Behaviour):
    def vote(self, view: View) -> Votes:
        return [float(len(view.recent)), 0.0, 0.0, 0.0, 0.0]
"""
QUIET = ("--display", "none", "--log-level", "error", "--in-process")


def played(folder: Path, *words: str) -> str:
    code, output = invoke(folder, "play", *words, *QUIET)
    assert code == 0, output
    return output


def test_games_go_on_from_a_turn_of_a_recording(tmp_path: Path) -> None:
    out = played(tmp_path, "--rounds", "12", "--map", "m1", "--seed", "3", "--against", "sparring/hunter")
    (path,) = recordings(tmp_path)
    earlier = read_recording(path)
    assert earlier.last is not None
    then = [hero.gold for hero in earlier.last.state.heroes]
    (tmp_path / "mine.toml").write_text(MINE)
    (tmp_path / "memory.py").write_text(MEMORY)
    words = ("--from", "last", "--turn", "20", "--bot", "mine.toml", "--games", "2", "--nodes", "2000", "--seed", "5")
    out = played(tmp_path, *words)
    assert f"from turn 20 of game {earlier.header.game} to the end, 2 games" in out
    later = [read_recording(one) for one in recordings(tmp_path) if one != path]
    assert len(later) == 2
    golds = []
    for recording in later:
        assert recording.header.bot == "mine"
        (memory,) = (entry for entry in recording.turns[0].ballot.entries if entry.label == "memory")
        assert memory.votes == [5, 0, 0, 0, 0], "its bot has seen turns 0, 4, 8, 12 and 16"
        assert recording.header.hero == earlier.header.hero == 1
        assert recording.turns[0].turn == 20
        assert recording.turns[0].state.board == earlier.turn(20).state.board
        assert recording.turns[0].state.max_turns == 48
        assert list(recording.names) == ["mine", "hunter", "hunter", "hunter"]
        assert recording.last is not None
        golds.append([hero.gold for hero in recording.last.state.heroes])
    rows = [re.split(r"  +", row) for row in out.splitlines() if row.startswith("@")]
    assert [row[:4] for row in rows] == [
        [f"@{hero}", name, str(gold), now]
        for hero, name, gold, now in zip(range(1, 5), earlier.names, then, later[0].names, strict=True)
    ]
    assert [float(row[4]) for row in rows] == [sum(gold) / 2 for gold in zip(*golds, strict=True)]
    mean = sum(gold[0] for gold in golds) / 2 - then[0]
    assert f"mine as hero 1: {mean:+.1f} gold compared with the earlier game (95 % " in out


def test_one_game_from_a_saved_answer(tmp_path: Path) -> None:
    """The rivals are named, for nobody knows the players of this game. Its end is not known."""
    game = raw(states_of(5, plies=40)[26])
    (tmp_path / "state.json").write_text(json.dumps({"game": game, "hero": game["heroes"][2]}, indent=1))
    out = played(tmp_path, "--from", "state.json", "--against", "stay")
    assert "how the earlier game ended is not known" in out
    recording = recorded(tmp_path)
    assert (recording.header.hero, recording.turns[0].turn) == (3, 26)


def refused(*words: str) -> str:
    return printed("play", *words, *QUIET, code=2)


def test_wrong_requests_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recording = record(tmp_path, states_of(5, plies=40), 1)
    file = ("--from", recording.path.name)
    assert "--turn, --game and --hero choose a turn of the file that --from names" in refused("--turn", "3")
    assert "choose a turn of the game with --turn: the file has the turns 0 to 40" in refused(*file)
    assert "there is no turn 99" in refused(*file, "--turn", "99")
    assert "there is no bot '[red]two[/]' (hero 2 of the game) here: --against names a bot" in refused(*file, "--turn", "8")
    assert "does not go with --from: the earlier game sets the map" in refused(*file, "--turn", "8", "--map", "m1")
    other = ("--server", "http://127.0.0.1:9")
    assert "does not go with --from: the games run on our own server" in refused(*file, "--turn", "8", *other)
    assert "there is no recording in recordings/" in refused("--from", "last", "--turn", "8")
    (tmp_path / "note.txt").write_text("a note\n")
    assert "note.txt: this is no game" in refused("--from", "note.txt", "--turn", "8")
    (tmp_path / "cup.jsonl").write_text('{"version":3,"tournament":""}\n')
    assert "cup.jsonl: its game records are missing (cup.games.jsonl)" in refused("--from", "cup.jsonl", "--turn", "8")


def test_the_rivals_are_the_bots_of_the_earlier_game(tmp_path: Path) -> None:
    path = tmp_path / "cup.games.jsonl"
    moves = [0] * 7 + [5] + [0] * 8  # hero 4 crashes on turn 7
    path.write_bytes(game_record.dumps(record_of(generate(3, size=10), moves, names=("random", "hunter", "seed", "strong-3"))))
    start = Continuation.read(path, 10)
    assert [bot and bot.name for bot in rivals_of(start, "")] == [None, None, "hunter"]
    assert [bot and bot.name for bot in rivals_of(start, "stay")] == [None, "stay", "stay"]
    history = GameHistory.read(path)
    history.players = (Player("../seed"), *history.players[1:])
    with pytest.raises(Exception, match=r"there is no bot '\.\./seed' \(hero 1 of the game\) here"):
        rivals_of(Continuation(history, 10, 2), "")
