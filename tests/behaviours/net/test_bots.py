"""Bots that play a net, through the real commands: their files, their digest, worker processes and other machines."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from behaviours import Budget, View
from behaviours.net import trait as trait_module
from behaviours.net.network import UNIT, Net, Network, save_nets
from behaviours.net.trait import Learned
from tests.support.arenabots import schedule
from tests.support.commands import invoke
from tests.support.nets import random_network
from tests.support.pools import ask, pool_of, statuses
from tests.support.positions import small_positions
from vindibot.arena.dask import archives_of, moved_task, unpack
from vindibot.arena.games import play_task
from vindibot.config.bots import load_bot
from vindibot.engine.worker import TraitPlan


def net(seed: int, hidden: int = 32) -> bytes:
    """Return a file with one random net."""
    return save_nets([Net(random_network(np.random.default_rng(seed), hidden), name=f"net {seed}", about={"vindibot": "9.1"})])


def bot_in(folder: Path, text: str = 'net = "my.npz"', seed: int = 1) -> Path:
    """Make a folder with a net and a bot file that plays it, and return the bot file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "my.npz").write_bytes(net(seed))
    path = folder / "bot.toml"
    path.write_text(f"[traits.learned]\n{text}\n")
    return path


def one_line(folder: Path, *words: str) -> str:
    """Return the message of a command that refuses its input."""
    code, said = invoke(folder, *words)
    assert code == 2, said
    lines = [line for line in said.splitlines() if "still importing the module" not in line]  # on a slow machine
    assert len(lines) == 1, said
    assert lines[0].startswith("error: ")
    return lines[0]


def test_a_net_is_looked_up_beside_the_file_that_names_it(tmp_path: Path) -> None:
    """Also if another bot in another folder extends this file, and the command runs in a third folder."""
    bot_in(tmp_path / "base")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.toml").write_text('extends = "../base/bot.toml"\n[traits.learned]\nscale = 8\n')
    (tmp_path / "here").mkdir()
    bot = str(tmp_path / "other" / "mine.toml")
    code, said = invoke(
        tmp_path / "here", "arena", bot, "random", "--blocks", "1", "--rounds", "5", "--nodes", "50", "--workers", "1"
    )
    assert code == 0, said
    assert "mine" in said
    shown = invoke(tmp_path / "base", "config", "--bot", "bot.toml")[1].splitlines()
    (line,) = [line for line in shown if line.startswith("net = ")]
    assert line.split("#")[0].strip() == 'net = "my.npz"'
    assert "bot.toml, line 2" in line
    described = invoke(tmp_path, "behaviours", "learned")[1]
    assert "net = (required)  file" in described
    assert "# net = ..." in described
    assert "list of: file" in invoke(tmp_path, "behaviours", "rollout")[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('net = "none.npz"', 'bot.toml, line 2: traits.learned.net names a missing file, "none.npz"; looked in '),
        ('net = "~nobody-here/none.npz"', 'names a missing file, "~nobody-here/none.npz"'),
        ('net = ""', "names a missing file"),
        ('net = "."', "names a missing file"),
        ("net = 5", "bot.toml, line 2: traits.learned.net must be text, not 5"),
        ("scale = 5", "bot.toml, line 1: traits.learned.net is missing"),
        ('net = "bot.toml"', "bot.toml is no file of nets, or it is damaged"),
        ('net = "old.npz"', "old.npz has features of version 7; this vindibot reads features of version 1: use vindibot 0.3,"),
        ('net = "old.npz"', "bot.toml, line 2: traits.learned.net "),
    ],
)
def test_a_missing_or_damaged_net_is_one_line_with_its_place(
    tmp_path: Path, text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot_in(tmp_path, text)
    with monkeypatch.context() as patch:
        patch.setattr("behaviours.net.network.FEATURES_VERSION", 7)
        later = Net(Network.linear_only(np.zeros(3, np.int16)), about={"vindibot": "0.3"})
        (tmp_path / "old.npz").write_bytes(save_nets([later]))
    assert message in one_line(tmp_path, "config", "--bot", "bot.toml")


def test_a_wrong_model_of_rollout_is_one_line_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "hidden.npz").write_bytes(net(1))
    (tmp_path / "bot.toml").write_text(
        'extends = "strong"\n\n[traits.rollout]\nlearned = ["versions/models.npz", "hidden.npz"]\n'
    )
    message = one_line(tmp_path, "config", "--bot", "bot.toml")
    assert "bot.toml, line 4: traits.rollout.learned" in message
    assert "the net 'net 1' cannot be an opponent model: it has hidden units" in message
    (tmp_path / "hidden.npz").unlink()
    assert 'names a missing file, "hidden.npz"' in one_line(tmp_path, "config", "--bot", "bot.toml")


def test_rollout_follows_the_net_that_its_bot_file_names(tmp_path: Path) -> None:
    """Without time for playouts, it votes for the move of the net. With time, another net gives other votes."""
    path, votes = tmp_path / "bot.toml", []
    path.write_text('[traits.rollout]\nnet = "my.npz"\n')
    assert 'names a missing file, "my.npz"' in one_line(tmp_path, "config", "--bot", "bot.toml")
    for seed in (1, 2):
        (tmp_path / "my.npz").write_bytes(net(seed))
        code, said = invoke(tmp_path, "config", "--bot", "bot.toml")
        assert code == 0
        assert 'net = "my.npz"' in said
        (_, trait), learned = load_bot(path).build()[0], Learned(net=str(tmp_path / "my.npz"))
        for games in small_positions(4, 20):
            view = View(games, int(games[0]["turn"]) % 4)
            if not games["status"][0]:
                best = [move for move, vote in trait.combine(view, []).votes.items() if vote == 0]
                assert len(best) == 1
                assert dict(learned.vote(view))[best[0]] == 0
        view = View(next(small_positions(4, 1)), 0, budget=Budget(nodes=20_000))
        votes.append(list(trait.statistics(view, 0))[-1][-1, 0])
    assert votes[0].tolist() != votes[1].tolist()


def test_other_contents_of_a_net_are_another_bot(tmp_path: Path) -> None:
    first = load_bot(bot_in(tmp_path / "one"))
    same, other = load_bot(bot_in(tmp_path / "two")), load_bot(bot_in(tmp_path / "three", seed=2))
    assert first.digest == same.digest != other.digest
    (tmp_path / "one" / "my.npz").write_bytes(net(2))
    assert load_bot(tmp_path / "one" / "bot.toml").digest == other.digest


def test_the_votes_are_differences_of_scores(tmp_path: Path) -> None:
    """A net that likes to stay and has no other opinion."""
    likes = np.zeros(50, np.int16)
    likes[1:11] = 2 * UNIT  # the features of a stay
    (tmp_path / "stay.npz").write_bytes(save_nets([Net(Network.linear_only(likes))]))
    path = str(tmp_path / "stay.npz")
    for games in small_positions(2, 10):
        view = View(games, int(games[0]["turn"]) % 4)
        votes = Learned(net=path, scale=4).vote(view)
        assert votes == {move: (0 if move == 0 else -0.5) for move in view.moves}
        assert set(Learned(net=path, scale=1).vote(view).values()) <= {0, -1}


def test_a_trait_plays_on_with_its_net_when_the_file_goes(tmp_path: Path) -> None:
    view = View(next(small_positions(2, 1)), 0)
    path = bot_in(tmp_path).with_name("my.npz")
    trait = Learned(net=str(path))
    votes = trait.vote(view)
    path.unlink()
    assert trait.vote(view) == votes
    assert trait_module.__name__ == trait.__module__


async def test_a_net_plays_in_a_worker_process(tmp_path: Path) -> None:
    bot = load_bot(bot_in(tmp_path))
    (spec,) = bot.traits
    async with pool_of(TraitPlan(spec.class_path, dict(spec.parameters)), workers=1) as pool:
        entries = await ask(pool, seconds=60.0)
    assert statuses(entries) == ["ok"]
    assert entries[0].votes is not None
    assert max(entries[0].votes) == 0


def test_nets_travel_to_other_machines(tmp_path: Path) -> None:
    """On the other machine there are no files of this bot, and the built-in files have other paths."""
    bot = bot_in(tmp_path / "mine")
    models = tmp_path / "models"
    models.mkdir()
    likes = Net(Network.linear_only(np.array([0, 3, 9], np.int16)), name="model")
    (models / "model.npz").write_bytes(save_nets([likes]))
    (models / "bot.toml").write_text('name = "models"\nextends = "strong"\n[traits.rollout]\nlearned = ["model.npz"]\n')
    plan = schedule(str(bot), str(models / "bot.toml"), "random", "strong=versions/strong-3", limits__nodes=200, rounds=4)
    expected = [play_task(task).line.played for task in plan.tasks()]
    archives, places = archives_of(plan.entrants)
    games = pickle.loads(pickle.dumps([moved_task(task, places.get, "") for task in plan.tasks()]))
    shutil.rmtree(tmp_path / "mine")
    shutil.rmtree(models)
    for name, archive in archives.items():
        (tmp_path / f"{name}.tar.xz").write_bytes(archive)
        unpack(tmp_path / f"{name}.tar.xz", tmp_path / "there" / name)
    there = [moved_task(game, lambda path: str(tmp_path / "there" / path), "") for game in games]
    assert [play_task(game).line.played for game in there] == expected
