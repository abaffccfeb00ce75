"""``vindibot learn expert``: nets fitted to the votes of a bot on recorded turns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from behaviours.net.features import MOVE_SLOTS
from behaviours.net.network import UNIT, Net, load_nets, save_nets
from tests.learning.test_imitation import logarithms_of
from tests.support.commands import invoke
from tests.support.nets import random_network
from vindibot.config.bots import load_bot
from vindibot.engine.agent import in_process_voters
from vindibot.games.ballot import tally
from vindibot.games.history import GameHistory
from vindibot.learning.decisions import MoveDecisions, Turns, decisions_of, read_games
from vindibot.learning.experts import Expert, improved, probabilities
from vindibot.review.positions import positions


def wanting(some: MoveDecisions, wanted: np.ndarray) -> MoveDecisions:
    return replace(some, columns=some.columns._replace(wanted=wanted))


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow_long
def test_a_net_learns_the_votes_of_a_bot(games: Path, tmp_path: Path) -> None:
    words = ["learn", "expert", "seed", games, "--only", "careful", "--only", "hunter", "--hidden", 16, "--nodes", 100]
    code, said = invoke(tmp_path, *words, "--out", "better.npz")
    assert code == 0, said
    (net,) = load_nets(tmp_path / "better.npz")
    assert (net.name, net.policy.hidden) == ("seed", 16)
    assert {"expert": "seed", "nodes": 100, "temperature": 0.1}.items() <= net.about.items()
    row = next(line.split() for line in said.splitlines() if line.startswith("seed "))
    assert float(row[3].rstrip("%")) > 55
    (spec,) = load_bot(str(tmp_path / "better.toml")).traits
    assert (spec.use, spec.parameters["net"]) == ("learned", str(tmp_path / "better.npz"))

    # the votes are stored: an interrupted run asks only for the others, and gives the same net
    head, *votes = (tmp_path / "better.votes.jsonl").read_text().splitlines()
    assert len(votes) == 48
    (tmp_path / "better.votes.jsonl").write_text("\n".join([head, *votes[:20], votes[20][:50]]))
    code, said = invoke(tmp_path, *words, "--out", "better.npz")
    assert code == 0, said
    (again,) = load_nets(tmp_path / "better.npz")
    assert all(np.array_equal(getattr(again.policy, name), getattr(net.policy, name)) for name in ("rows", "linear", "out"))
    stored = lines_of(tmp_path / "better.votes.jsonl")
    assert sorted(line["game"] for line in stored[1:]) == list(range(48))

    # a net that is to become better
    code, said = invoke(tmp_path, *words[:-4], "--nodes", 100, "--from", "better.npz", "--out", "third.npz")
    assert code == 0, said
    assert load_nets(tmp_path / "third.npz")[0].policy.hidden == 16


@pytest.mark.parametrize("step", [1, 3])
def test_the_votes_are_those_of_the_bot_on_these_turns(games: Path, tmp_path: Path, step: int) -> None:
    """The votes equal those on the views that a review makes of the same turns."""
    record, place = read_games([games], 0.3).games[1]
    turns, bot = Turns(record, place, "careful", 2, step), load_bot("malvert")
    expert = Expert(bot, 500, 0.5, tmp_path / "votes.jsonl")
    (targets,) = expert.targets([turns])
    voters, expected = in_process_voters(bot), []
    for position in list(positions(GameHistory.of(record), turns.seats))[2::step]:
        view = position.view()
        view.budget = voters.budget(500)
        ballot = tally(voters.vote_now(view), view.moves, view.rng("tie"))
        votes = np.array([ballot.sums[move] if move in ballot.candidates else -np.inf for move in range(5)]) / 0.5
        odds = np.exp(votes - votes.max())
        expected.append(odds / odds.sum())
    voters.let_go()
    assert len(targets) == len(turns.plies) == len(expected)
    assert np.abs(targets - np.array(expected)).max() < 1e-4
    assert turns.plies == [ply.number for ply in GameHistory.of(record) if ply.mover in turns.seats][2::step]


def test_the_turns_have_the_same_order_in_every_run(games: Path) -> None:
    """Else an interrupted run would find that its votes are on other games."""
    seen: list[str] = []

    def targets(turns: Sequence[Turns]) -> list[np.ndarray]:
        seen.extend(one.name for one in turns)
        return [np.full((len(one.plies), 5), 0.2, np.float32) for one in turns]

    found = decisions_of([games], 0.3, (), targets)
    assert list(found) == ["careful", "hunter", "random", "stay"]
    assert seen == sorted(seen)
    assert all((one.columns.wanted == np.float32(0.2)).all() for one in found.values())


def test_an_expert_that_does_not_vote_is_an_error(games: Path, tmp_path: Path) -> None:
    (tmp_path / "mute.py").write_text(
        "from behaviours.base import Behaviour\n\n\nclass Mute(Behaviour):\n"
        "    def vote(self, view):\n        raise RuntimeError('no idea')\n"
    )
    (tmp_path / "mute.toml").write_text('name = "mute"\n[traits.mute]\nuse = "mute:Mute"\n')
    code, said = invoke(tmp_path, "learn", "expert", "mute.toml", games, "--only", "stay", "--out", "a.npz")
    assert code == 1, said
    assert "mute: none of its traits voted on ply" in said
    assert not (tmp_path / "a.npz").exists()


def test_a_net_keeps_its_moves_where_the_votes_are_equal(games: Path) -> None:
    some = decisions_of([games], 0.3, ["careful"])["careful"]
    net = Net(random_network(np.random.default_rng(3), 16, 100))
    parts = (weights.astype(np.float64) / UNIT for weights in (net.policy.rows, net.policy.linear, net.policy.out))
    own = np.exp(logarithms_of(*parts, some))
    allowed = some.columns.moves[:, ::MOVE_SLOTS] >= 0
    equal = (allowed / allowed.sum(axis=1, keepdims=True)).astype(np.float32)
    found = improved(wanting(some, equal), net).columns.wanted
    assert np.abs(found - own).max() < 1e-3
    # a vote of one temperature more makes a move e times as probable, relative to another move
    votes = [[1.0 if move == 0 else 0.0 if may else None for move, may in enumerate(row)] for row in allowed.tolist()]
    found = improved(wanting(some, probabilities(votes, 1.0)), net).columns.wanted
    expected = own * np.where(np.arange(5) == 0, np.e, 1)
    assert np.abs(found - expected / expected.sum(axis=1, keepdims=True)).max() < 1e-3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.jsonl"], "there is no file of game records none.jsonl"),
        (["--out", "a.toml"], "--out: the name of the file must end in .npz"),
        (["--hidden", "17"], "--hidden 17: 0, or a multiple of 16"),
        (["--from", "big.npz", "--hidden", "16"], "--hidden 16: the net of --from has 32 hidden units; it can have no fewer"),
        (["--only", "hunt"], "--only hunt: no game of this bot; the bots are careful, hunter, random, stay"),
        (["--out", "other.npz"], "other.toml is there already and was not made by vindibot learn expert"),
        (["--out", "word.npz"], "word.votes.jsonl is there already and has no votes"),
        (["--out", "old.npz"], "old.votes.jsonl has votes on other games, or of another expert"),
    ],
)
def test_wrong_words_are_refused(games: Path, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "big.npz").write_bytes(save_nets([Net(random_network(np.random.default_rng(1), 32, 10))]))
    (tmp_path / "other.toml").write_text('extends = "seed"\n')
    (tmp_path / "word.votes.jsonl").write_text('{"vindibot votes": 1}\n{"game": 0}\n')
    (tmp_path / "old.votes.jsonl").write_text('{"vindibot votes": 1}\n')
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    code, said = invoke(tmp_path, "learn", "expert", "stay", games, "--only", "stay", "--out", "a.npz", *words)
    assert code == 2, said
    assert message in " ".join(said.split())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
