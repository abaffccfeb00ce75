"""Tournaments on a real scheduler of Dask with two real workers on loopback: the same games as on one machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.arenabots import line_bot
from tests.support.clusters import Cluster, Watch, no_players_left, play_on, same_games, tournament
from vindibot.arena.results import read_results


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
