"""Tournaments on a real scheduler of Dask with real Dask workers on loopback: the same games as on one machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import pytest

from tests.support.arenabots import line_bot
from tests.support.commands import invoke
from tests.support.paths import TOP
from tests.support.waiting import wait_until
from vindibot.arena.dask import MAX_BYTES, packed
from vindibot.arena.report.live import Reporter
from vindibot.arena.results import GameLine, read_results
from vindibot.arena.settings import ArenaSettings
from vindibot.arena.tournament import Tournament, prepare
from vindibot.base.errors import UsageError, VindibotError
from vindibot.config.load import load_config
from vindibot.config.signature import build
from vindibot.games.files.game_files import read_records, records_path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

#: What a worker under a nanny lacks.
DAEMON = "its worker may start no processes: use dask worker --no-nanny, or set distributed.worker.daemon: false"
#: A tournament whose games take about half a second each.
BOTS = ("seed", "malvert", "searcher", "random")
SETTINGS: dict[str, Any] = {"blocks": 6, "rounds": 100, "limits__nodes": 300, "maps__sizes": [12]}


def free_port() -> int:
    """Return a port on loopback that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Cluster:
    """A scheduler and Dask workers. `folder` gets the output of each process, `variables` are for all of them."""

    def __init__(self, folder: Path, protocol: str = "tcp", **variables: str) -> None:
        self.folder, self.port, self.variables = folder, free_port(), variables
        self.address = f"{protocol}://127.0.0.1:{self.port}"
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.start_scheduler()

    def start_scheduler(self) -> None:
        """Start the scheduler, and wait until it listens."""
        words = ["scheduler", "--host", self.address.rpartition(":")[0], "--port", str(self.port), "--no-dashboard"]
        self.scheduler = self._start("scheduler", *words, "--dashboard-address", "127.0.0.1:0")

        def listens() -> bool:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return True
            return False

        wait_until(listens, 30)

    def join(self, name: str, *options: str, **variables: str) -> None:
        """Start a worker that plays one game at a time, without a nanny unless `options` say something else."""
        words = ["worker", self.address, "--nthreads", "1", "--name", name, *(options or ["--no-nanny"]), "--no-dashboard"]
        self.workers[name] = self._start(name, *words, "--local-directory", str(self.folder), **variables)

    def kill(self, name: str) -> None:
        """Kill a worker (SIGKILL)."""
        process = self.workers.pop(name)
        process.kill()
        process.wait()

    def close(self) -> None:
        """End all processes."""
        processes = [*self.workers.values(), self.scheduler]
        for process in processes:
            process.terminate()
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()

    def _start(self, log: str, *words: str, **variables: str) -> subprocess.Popen[bytes]:
        command, variables = [sys.executable, "-m", "dask", *words], {**os.environ, **self.variables, **variables}
        with (self.folder / f"{log}.log").open("ab") as output:
            return subprocess.Popen(command, cwd=TOP, env=variables, stdout=output, stderr=output, start_new_session=True)


class Watch(Reporter):
    """Collects lines and notes, and calls `on_game` with the number of games so far."""

    def __init__(self, on_game: Callable[[int], object] = lambda count: None) -> None:
        self.lines: list[GameLine] = []
        self.notes: list[str] = []
        self._on_game = on_game

    def begin(self, info: Any) -> None:
        self.info = info

    def finished(self, line: GameLine) -> None:
        self.lines.append(line)
        self._on_game(len(self.lines))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def end(self) -> None:
        pass


def tournament(path: Path, *bots: str, resume: bool = False, **settings: Any) -> Tournament:
    """Return a tournament of these bots with a fixed seed. `settings` are keys with two underscores for the dot."""
    given = {"bots": list(bots), "results": str(path), "seed": 7, "report": False, "logs": "none"}
    given |= {key.replace("__", "."): value for key, value in settings.items()}
    return prepare(load_config(ArenaSettings, None, given, environ={}), resume=resume)


def play(found: Tournament, watch: Watch | None = None) -> Watch:
    """Play a tournament, and return what was reported."""
    watch = watch or Watch()
    try:
        with found.machines(watch.note) as elsewhere:
            found.play(watch, elsewhere)
    finally:
        found.store.close()
    return watch


def same_games(path: Path) -> list[GameLine]:
    """Return the lines of a results file in the order of the schedule, without what may differ between two runs of a game."""
    own: dict[str, Any] = {"ms_median": 0.0, "ms_p99": 0.0, "ms_max": 0.0}
    lines = [replace(line, seats=tuple(replace(seat, **own) for seat in line.seats)) for line in read_results(path)]
    return sorted((replace(line, machine=None, started="", seconds=0.0) for line in lines), key=lambda line: line.key)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two workers, one of them under a nanny. A test that ends one of them starts it again."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    cluster.join("alpha")
    cluster.join("beta", "--nanny", DASK_DISTRIBUTED__WORKER__DAEMON="False")
    yield cluster
    cluster.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster of two workers for one test."""
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster")
    cluster.join("alpha")
    cluster.join("beta")
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[GameLine]:
    """The games of the tournament, as one machine plays them alone."""
    found = tournament(tmp_path_factory.mktemp("undisturbed") / "local.jsonl", *BOTS, **SETTINGS)
    play(found)
    return same_games(found.path)


def own_bot(folder: Path, name: str, votes: str) -> str:
    """Write a bot with a trait of its own in a file coward.py, which reads a file beside it. Return the path of the bot."""
    place = folder / name
    place.mkdir()
    (place / "votes.txt").write_text(votes)
    (place / "coward.py").write_text(
        "from pathlib import Path\nfrom behaviours import Behaviour\n\n\nclass Coward(Behaviour):\n"
        "    def vote(self, view):\n        print(view.turn)\n"
        "        return eval(Path(__file__).with_name('votes.txt').read_text())\n"
    )
    (place / "bot.toml").write_text(f'name = "{name}"\nextends = "seed"\n[traits.coward]\nuse = "coward:Coward"\nweight = 9\n')
    return str(place / "bot.toml")


def test_games_are_the_same_on_every_machine(shared: Cluster, tmp_path: Path) -> None:
    """Bots with own code play too, two of them with a module of the same name."""
    bots = (own_bot(tmp_path, "north", "{1: 1, 4: 0.5}"), own_bot(tmp_path, "south", "{2: 1, 3: 0.5}"), line_bot(), "searcher")
    settings = {"blocks": 3, "rounds": 15, "limits__nodes": 50, "maps__sizes": [10], "logs": "all"}
    local = tournament(tmp_path / "local.jsonl", *bots, **settings)
    remote = tournament(tmp_path / "remote.jsonl", *bots, **settings, dask=shared.address)
    play(local)
    watch = Watch(lambda games: wait_until(lambda: [*map(bool, missing())] == [False, False], 60) if games == 1 else None)

    def missing() -> list[str]:
        return [machine.missing for machine in watch.info.machines()]

    play(remote, watch)
    assert same_games(local.path) == same_games(remote.path)
    assert {line.machine.name for line in watch.lines if line.machine} == {"alpha", "beta"}
    assert len({line.machine.signature for line in watch.lines if line.machine}) == 1
    assert all(seat.outcome.finished for line in watch.lines for seat in line.seats)
    moves = [{record.id: record.moves for record in read_records(records_path(path))} for path in (local.path, remote.path)]
    assert moves[0] == moves[1]
    assert sum(machine.games for machine in watch.info.machines()) == 12
    logs = [{path.name for path in path.with_suffix(".logs").iterdir()} for path in (local.path, remote.path)]
    assert logs[0] == logs[1]


def test_a_study_is_the_same_on_every_machine(shared: Cluster, tmp_path: Path) -> None:
    bot = own_bot(tmp_path, "north", "{1: 0.05}")
    words = ["--parameters", "traits.*", "--games", "24", "--batch", "1"]
    words += ["--seed", "3", "--nodes", "20", "--rounds", "25", "--map", "10-1", "--rival", "sparring/miner", "--no-report"]
    blocks = {}
    for name, more in (("local", ["--workers", "1"]), ("remote", ["--dask", shared.address])):
        paths = ["--study", str(tmp_path / f"{name}.jsonl"), "--out", str(tmp_path / f"{name}.toml")]
        code, printed = invoke(tmp_path, "tune", "play", bot, *words, *more, *paths)
        assert code == 0, printed
        lines = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
        entries = [line for line in lines if "intermediate_value" in line]
        blocks[name] = {(entry["trial_id"], entry["step"]): entry["intermediate_value"] for entry in entries}
    assert len(blocks["local"]) == 11
    assert blocks["local"] == blocks["remote"]
    assert len(set(blocks["local"].values())) > 1, "the variants play differently"
    values = [tomllib.loads((tmp_path / f"{name}.toml").read_text())["traits"] for name in blocks]
    assert values[0] == values[1]


def test_a_machine_that_differs_is_left_out(shared: Cluster, tmp_path: Path) -> None:
    other = tmp_path / "other" / "numba-0.1.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: numba\nVersion: 0.1\n")
    shared.join("gamma", PYTHONPATH=str(other.parent))
    shared.join("delta", "--nanny")
    left_out = {
        f"machine gamma is left out: numba is 0.1 there and {build().numba} here",
        f"machine delta is left out: {DAEMON}",
    }
    watch = Watch(lambda games: wait_until(lambda: left_out <= {*watch.notes}, 60) if games == 1 else None)
    play(tournament(tmp_path / "cup.jsonl", "seed", "random", "stay", blocks=1, rounds=8, dask=shared.address), watch)
    assert {line.machine.name for line in watch.lines if line.machine} <= {"alpha", "beta"}
    assert [line.ending for line in watch.lines] == ["finished"] * 12
    for name in ("alpha", "beta"):
        shared.workers[name].send_signal(signal.SIGINT)
        shared.workers.pop(name).wait(60)  # if it is sending a message at this moment, Dask waits 30 s for its end
    with pytest.raises(VindibotError, match=r"every machine of the cluster is left out\n(?s:.*)delta: its") as caught:
        play(tournament(tmp_path / "none.jsonl", "seed", "random", blocks=1, rounds=8, dask=shared.address))
    assert caught.value.exit_code == 2


def test_killed_workers_and_a_restarted_scheduler_lose_no_game(
    cluster: Cluster, tmp_path: Path, undisturbed: list[GameLine]
) -> None:
    def kill() -> None:
        for name in ("alpha", "beta"):
            cluster.kill(name)
        cluster.join("beta")

    def restart() -> None:
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        for worker in cluster.workers.values():
            worker.wait(60)  # a Dask worker ends without its scheduler
        cluster.start_scheduler()
        cluster.join("alpha")
        cluster.join("beta")

    acts = {5: kill, 15: restart}
    watch = Watch(lambda games: threading.Thread(target=acts[games]).start() if games in acts else None)
    with dask.config.set({"distributed.comm.timeouts.connect": "120s"}):  # a busy machine starts slowly
        play(tournament(tmp_path / "cup.jsonl", *BOTS, **SETTINGS, dask=cluster.address), watch)
    assert same_games(tmp_path / "cup.jsonl") == undisturbed
    assert {"machine alpha is gone", "machine beta is gone"} <= {*watch.notes}


def command(cluster: Cluster, path: Path, *, resume: bool = False) -> list[str]:
    """Return the command that plays the tournament on the cluster."""
    settings = ["--blocks", "6", "--rounds", "100", "--nodes", "300", "--size", "12", "--seed", "7", "--no-report"]
    words = ["--resume", str(path)] if resume else [*BOTS, *settings, "--results", str(path), "--dask", cluster.address]
    return [sys.executable, "-m", "vindibot", "arena", *words]


def started(words: list[str], path: Path, games: int) -> subprocess.Popen[str]:
    """Start a tournament, and return it when this number of games is played."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    wait_until(lambda: path.exists() and path.read_text().count("\n") >= games, 90)
    return process


def test_interrupts_kills_and_resume(cluster: Cluster, tmp_path: Path, undisturbed: list[GameLine]) -> None:
    path = tmp_path / "cup.jsonl"
    process = started(command(cluster, path), path, 3)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 130, output
    assert "finishing the games that are running" in output
    process = started(command(cluster, path, resume=True), path, len(read_results(path)) + 3)
    process.kill()
    process.communicate()
    assert len(read_results(path)) < 24
    done = subprocess.run(command(cluster, path, resume=True), capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert same_games(path) == undisturbed


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes certificates")
def test_only_certificates_of_the_authority_get_in(tmp_path: Path) -> None:
    """With the commands and the configuration of docs/cluster.md."""
    text = (TOP / "docs" / "cluster.md").read_text()
    configuration = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert configuration is not None
    for authority in ("ours", "theirs"):
        (tmp_path / authority).mkdir()
        for line in re.findall(r"^\$ (openssl .*)$", text, re.MULTILINE):
            subprocess.run(shlex.split(line), cwd=tmp_path / authority, check=True, capture_output=True)
        (tmp_path / authority / "tls.yaml").write_text(configuration[1].replace("/etc/dask", str(tmp_path / authority)))
    cluster = Cluster(tmp_path, "tls", DASK_CONFIG=str(tmp_path / "ours"))
    try:
        cluster.join("alpha")
        for authority, code in (("ours", 0), ("theirs", 2)):
            words = [*command(cluster, tmp_path / f"{authority}.jsonl"), "--blocks", "1", "--rounds", "2"]
            variables = {"DASK_CONFIG": str(tmp_path / authority), "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s"}
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=100, check=False, env={**os.environ, **variables}
            )
            assert done.returncode == code, done.stderr
        assert "no scheduler answers at tls://" in done.stderr
        assert "CERTIFICATE_VERIFY_FAILED" in done.stderr or "certificate" in done.stderr
    finally:
        cluster.close()


def test_an_archive_has_the_files_of_a_bot_and_nothing_else(tmp_path: Path) -> None:
    names = ("coward.py", "docs/book.bin", ".git/config", "__pycache__/a.pyc", "results/cup.jsonl", "env/pyvenv.cfg", "env/x.py")
    contents = []
    for folder in ("docs", "tests"):  # names that Dask's plugin for folders leaves out
        for name in names:
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        contents.append(packed(tmp_path / folder))
    assert contents[0] == contents[1]
    (tmp_path / "x.tar.xz").write_bytes(contents[0])
    shutil.unpack_archive(tmp_path / "x.tar.xz", tmp_path / "out")
    found = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert found == {"coward.py", "docs/book.bin"}
    with (tmp_path / "docs" / "book.bin").open("wb") as large:
        large.truncate(MAX_BYTES + 1)
    with pytest.raises(UsageError, match="put the bot into a folder of its own"):
        packed(tmp_path / "docs")
