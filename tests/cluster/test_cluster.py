"""Tournaments on a real scheduler of Dask with two real workers on loopback: the same games as on one machine."""

from __future__ import annotations

import io
import json
import signal
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from traceback import format_exception

import pytest
from click.testing import CliRunner
from rich.console import Console

from tests.support.arenabots import line_bot
from tests.support.clusters import Cluster, Watch, no_players_left, play_on, same_games, tournament
from vindibot.arena.report.live import Reporter, TournamentInfo
from vindibot.arena.results import MachineLine, MachineStatus, read_results
from vindibot.base.errors import VindibotError
from vindibot.cli.main import main
from vindibot.config.signature import build


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two machines. A test that ends one of them starts it again."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        for name in ("alpha", "beta"):
            cluster.join(name)
        cluster.wait_joined("alpha", "beta")
        yield cluster
    finally:
        cluster.close()


def own_bot(folder: Path, name: str, votes: str) -> str:
    """Write a bot with a trait of its own in a file coward.py, which reads a file beside it. Return the label and the path."""
    place = folder / name
    place.mkdir()
    (place / "votes.txt").write_text(votes)
    (place / "coward.py").write_text(
        "from pathlib import Path\nfrom behaviours import Behaviour\n\n\nclass Coward(Behaviour):\n"
        "    def vote(self, view):\n        return eval(Path(__file__).with_name('votes.txt').read_text())\n"
    )
    (place / "bot.toml").write_text(f'name = "{name}"\nextends = "seed"\n[traits.coward]\nuse = "coward:Coward"\nweight = 9\n')
    return str(place / "bot.toml")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_games_are_the_same_on_every_machine(shared: Cluster, tmp_path: Path) -> None:
    bots = (
        own_bot(tmp_path, "north", "{1: 1, 4: 0.5}"),
        own_bot(tmp_path, "south", "{2: 1, 3: 0.5}"),
        line_bot(),
        "searcher",
    )
    settings = {"blocks": 3, "rounds": 15, "limits__nodes": 50, "maps__sizes": [10], "logs": "all"}
    local, remote = (tournament(tmp_path / f"{name}.jsonl", *bots, **settings) for name in ("local", "remote"))
    local.play(Watch())
    with no_players_left():
        watch = play_on(shared.address, remote)
    assert same_games(local.path) == same_games(remote.path)
    assert {line.machine.name for line in watch.lines if line.machine} == {"alpha", "beta"}
    assert len({line.machine.signature for line in watch.lines if line.machine}) == 1
    assert all(seat.outcome.finished for line in watch.lines for seat in line.seats)
    records = [path.with_name(f"{path.stem}.games.jsonl").read_text().splitlines() for path in (local.path, remote.path)]
    moves = [{record["id"]: record["moves"] for record in map(json.loads, one)} for one in records]
    assert moves[0] == moves[1]
    assert {one.name: one.games for one in watch.info.machines()}.keys() == {"alpha", "beta"}
    assert sum(one.games for one in watch.info.machines()) == 12
    assert read_results(remote.path)[0].build == read_results(local.path)[0].build


@pytest.mark.slow
def test_a_study_is_the_same_on_every_machine(shared: Cluster, tmp_path: Path) -> None:
    """The variants of a bot travel: its traits and their files with the tournament, its values with each game."""
    bot = own_bot(tmp_path, "north", "{1: 0.05}")
    words = ["--parameters", "traits.*", "--games", "24", "--batch", "1"]
    words += ["--seed", "3", "--nodes", "20", "--rounds", "25", "--map", "10-1", "--rival", "sparring/miner", "--no-report"]
    blocks = {}
    for name, more in (("local", ["--workers", "1"]), ("remote", ["--dask", shared.address])):
        paths = ["--study", str(tmp_path / f"{name}.jsonl"), "--out", str(tmp_path / f"{name}.toml")]
        result = CliRunner().invoke(main, ["tune", "play", bot, *words, *more, *paths])
        assert result.exit_code == 0, "".join(format_exception(result.exception))
        lines = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
        entries = [line for line in lines if "intermediate_value" in line]
        blocks[name] = {(entry["trial_id"], entry["step"]): entry["intermediate_value"] for entry in entries}
    assert len(blocks["local"]) == 11
    assert blocks["local"] == blocks["remote"]
    assert len(set(blocks["local"].values())) > 1, "the variants play differently"
    values = [tomllib.loads((tmp_path / f"{name}.toml").read_text())["traits"] for name in blocks]
    assert values[0] == values[1]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_what_differs_is_refused_and_a_killed_parent_ends_no_game(shared: Cluster, tmp_path: Path) -> None:
    """One tournament on three machines: one of them has another numba. A trait that kills its parent ends no game."""
    other = tmp_path / "other" / "numba-0.1.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: numba\nVersion: 0.1\n")
    shared.join("gamma", environment={"PYTHONPATH": str(other.parent)})
    (tmp_path / "assassin.py").write_text(
        "import os, signal\nfrom behaviours import Behaviour\n\n\nclass Assassin(Behaviour):\n    def vote(self, view):\n"
        "        if view.me == 0 and view.turn == 8:\n            os.kill(os.getppid(), signal.SIGKILL)\n"
        "            signal.pause()\n        return 0\n"
    )
    (tmp_path / "bot.toml").write_text('[traits.assassin]\nuse = "assassin:Assassin"\n')
    shared.wait_joined("gamma")
    found = tournament(
        tmp_path / "results" / "cup.jsonl", str(tmp_path / "bot.toml"), "seed", "random", "stay", blocks=1, rounds=8
    )
    with no_players_left():
        watch = play_on(shared.address, found)
    shared.machines["gamma"].send_signal(signal.SIGINT)
    assert shared.machines.pop("gamma").wait(20) == 130
    (refusal,) = [note for note in watch.notes if "gamma" in note]
    assert refusal == f"machine gamma is refused: numba is 0.1 there and {build().numba} here"
    assert "gamma" not in {line.machine.name for line in watch.lines if line.machine}
    assert [line.ending for line in watch.lines] == ["finished"] * 4


@pytest.mark.slow
def test_unlike_processors_play_no_games_with_time_limits(shared: Cluster, tmp_path: Path) -> None:
    first = tournament(tmp_path / "cup.jsonl", "seed", "stay", blocks=1, rounds=2)
    first.play(Watch())
    line = first.lines[-1]
    assert line.machine is not None
    found = tournament(tmp_path / "cup.jsonl", "seed", "stay", blocks=2, rounds=2, resume=True)
    found.lines[-1] = replace(line, machine=MachineLine(name="old", cpu="Another One", signature="1"))
    with pytest.raises(VindibotError, match="every machine of the cluster is refused") as caught, no_players_left():
        play_on(shared.address, found)
    assert (
        "that of the other machines Another One, and bots have time limits: cluster.mixed_machines allows this"
        in caught.value.message
    )
    assert caught.value.exit_code == 2


def test_the_terminal_shows_the_machines() -> None:
    states = [MachineStatus("alpha", 8, 41, 12.4), MachineStatus("beta", 0, 3, 0.0, "gone for 40 s")]
    console = Console(file=io.StringIO(), width=100, force_terminal=True)
    reporter = Reporter(console)
    reporter.begin(TournamentInfo("cup", ("seed", "stay"), 100, 25, machines=lambda: states))
    shown = ["  alpha: 12 games/min, 8 at once, 41 games", "  beta: gone for 40 s"]
    assert reporter.status_lines()[-2:] == shown
    reporter.end()
    console.print(reporter._picture())
    assert all(line in console.file.getvalue() for line in shown)
