"""Faults of a cluster: whatever ends or stops, every game is played once, and it is the game that one machine plays alone."""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from sim import kernels
from tests.support.arenabots import bad_trait
from tests.support.clusters import (
    Cluster,
    Watch,
    no_players_left,
    play_on,
    players,
    same_games,
    tournament,
    wait_until,
)
from tests.support.paths import TOP
from tests.support.slow_proxy import HoldingProxy
from vindibot.arena.results import read_results
from vindibot.arena.seats.bots import NAME as SEAT
from vindibot.base.errors import VindibotError
from vindibot.cluster.player import NAME as PLAYER
from vindibot.processes.keeper import KEEPER
from vindibot.processes.root import ROOT, TEMPLATE

pytestmark = [pytest.mark.slow_long, pytest.mark.timeout(150)]

#: A tournament whose games take about half a second each.
BOTS = ("seed", "malvert", "searcher", "random")
SETTINGS: dict[str, Any] = {"blocks": 6, "rounds": 100, "limits__nodes": 300, "maps__sizes": [12]}


#: The settings of TLS and the files of docs/cluster.md.
CERTIFICATES = {"ca_file": "ca", "cert": "cert", "key": "key"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster of two machines."""
    with no_players_left():
        folder = tmp_path / "cluster"
        folder.mkdir()
        cluster = Cluster(folder)
        try:
            for name in ("alpha", "beta"):
                cluster.join(name)
            cluster.wait_joined("alpha", "beta")
            yield cluster
        finally:
            cluster.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The games of the tournament, as one machine plays them alone."""
    found = tournament(tmp_path_factory.mktemp("undisturbed") / "local.jsonl", *BOTS, **SETTINGS)
    found.play(Watch())
    return same_games(found.path)


def after(count: int, act: Any) -> Watch:
    """Return a reporter that calls `act` in a thread when this number of games has ended."""
    return Watch(lambda games: threading.Thread(target=act).start() if games == count else None)


def descendants_of(process: subprocess.Popen[bytes], name: str) -> list[psutil.Process]:
    """Return the descendants of a process with this name."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found += [child] if child.name() == name else []
    return found


def test_a_worker_that_is_killed(cluster: Cluster, tmp_path: Path, undisturbed: list[dict[str, Any]]) -> None:
    def kill() -> None:
        cluster.kill("beta")
        cluster.join("beta")

    watch = play_on(cluster.address, tournament(tmp_path / "cup.jsonl", *BOTS, **SETTINGS), after(5, kill))
    assert same_games(tmp_path / "cup.jsonl") == undisturbed
    assert any("machine beta is gone" in note for note in watch.notes)


def with_own_trait(folder: Path) -> tuple[str, ...]:
    """Return bots, one of which has a trait of its own, so that it plays in a child process."""
    (folder / "turns.py").write_text(
        "from behaviours import Behaviour\n\n\nclass Turns(Behaviour):\n    def vote(self, view):\n"
        "        return {view.turn // 4 % 5: 1}\n"
    )
    (folder / "bot.toml").write_text('extends = "seed"\n[traits.turns]\nuse = "turns:Turns"\n')
    return (f"mine={folder / 'bot.toml'}", *BOTS[:3])


@pytest.fixture(scope="module")
def undisturbed_children(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The games of the tournament with a bot that has a trait of its own."""
    folder = tmp_path_factory.mktemp("children")
    found = tournament(folder / "local.jsonl", *with_own_trait(folder), **SETTINGS)
    found.play(Watch())
    return same_games(found.path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("name", [KEEPER, ROOT, TEMPLATE, PLAYER, SEAT])
def test_a_process_of_a_machine_that_is_killed_or_stopped(
    cluster: Cluster, tmp_path: Path, undisturbed_children: list[dict[str, Any]], name: str, number: signal.Signals
) -> None:
    sent: list[int] = []

    def harm() -> None:
        limit = time.monotonic() + 20
        while time.monotonic() < limit:
            for one in descendants_of(cluster.machines["beta"], name)[:1]:
                with suppress(psutil.NoSuchProcess):
                    one.send_signal(number)
                    sent.append(one.pid)
                    return

    watch = Watch(lambda games: threading.Thread(target=harm).start() if games in (3, 9, 15) else None)
    play_on(cluster.address, tournament(tmp_path / "cup.jsonl", *with_own_trait(tmp_path), **SETTINGS), watch)
    assert sent
    assert same_games(tmp_path / "cup.jsonl") == undisturbed_children, watch.notes


def test_a_scheduler_that_is_killed(cluster: Cluster, tmp_path: Path, undisturbed: list[dict[str, Any]]) -> None:
    def kill() -> None:
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        wait_until(lambda: not players(), 20)
        cluster.start_scheduler()

    watch = play_on(cluster.address, tournament(tmp_path / "cup.jsonl", *BOTS, **SETTINGS), after(5, kill))
    assert same_games(tmp_path / "cup.jsonl") == undisturbed
    assert any("is gone; waiting for it" in note for note in watch.notes)
    assert "the scheduler is there again" in watch.notes


def test_a_scheduler_that_stays_away(cluster: Cluster, tmp_path: Path, undisturbed: list[dict[str, Any]]) -> None:
    found = tournament(tmp_path / "cup.jsonl", *BOTS, **SETTINGS, cluster__wait_s=2)
    play_on(cluster.address, found, after(5, cluster.scheduler.kill))
    assert "the scheduler at" in found.error
    before = len(read_results(found.path))
    assert 5 <= before < 24
    cluster.scheduler.wait()
    cluster.start_scheduler()
    play_on(cluster.address, tournament(tmp_path / "cup.jsonl", *BOTS, **SETTINGS, resume=True))
    assert same_games(tmp_path / "cup.jsonl") == undisturbed


def test_a_machine_that_is_stopped(cluster: Cluster, tmp_path: Path, undisturbed: list[dict[str, Any]]) -> None:
    beta = cluster.machines["beta"]

    def stop() -> None:
        beta.send_signal(signal.SIGSTOP)
        for child in psutil.Process(beta.pid).children(recursive=True):
            child.suspend()

    watch = play_on(cluster.address, tournament(tmp_path / "cup.jsonl", *BOTS, **SETTINGS, cluster__lost_s=3), after(5, stop))
    assert same_games(tmp_path / "cup.jsonl") == undisturbed
    assert any("machine beta gives no sign of life" in note for note in watch.notes)
    for child in psutil.Process(beta.pid).children(recursive=True):
        child.resume()


@pytest.mark.parametrize("held", ["worker", "driver"])
def test_a_connection_that_is_gone_for_30_seconds(
    cluster: Cluster, tmp_path: Path, undisturbed: list[dict[str, Any]], held: str
) -> None:
    proxy = HoldingProxy(cluster.port)
    address = f"tcp://127.0.0.1:{proxy.port}"
    if held == "worker":
        cluster.machines["beta"].terminate()
        cluster.machines.pop("beta").wait()
        cluster.join("beta", address=address)
        cluster.wait_joined("beta")

    def hold() -> None:
        proxy.hold()
        time.sleep(30)
        proxy.let_pass()

    try:
        found = tournament(tmp_path / "cup.jsonl", *BOTS, **{**SETTINGS, "blocks": 6}, cluster__lost_s=10)
        play_on(address if held == "driver" else cluster.address, found, after(5, hold))
    finally:
        proxy.close()
    assert same_games(tmp_path / "cup.jsonl") == undisturbed


def test_a_full_disk_of_a_machine(cluster: Cluster, tmp_path: Path) -> None:
    cluster.machines["beta"].terminate()
    cluster.machines.pop("beta").wait()
    # A cache of its own: alpha must not unpack the files for beta.
    cache = kernels.cache_folder()
    shutil.copytree(cache, tmp_path / "cache" / cache.name)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
    try:
        cluster.join("beta", environment={"NUMBA_CACHE_DIR": str(tmp_path / "cache")})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    cluster.wait_joined("beta")
    bot = bad_trait(tmp_path, "Answers", what="0")
    (tmp_path / "book.bin").write_bytes(os.urandom(100_000))
    watch = play_on(cluster.address, tournament(tmp_path / "results" / "cup.jsonl", f"mine={bot}", "seed", blocks=2, rounds=10))
    assert any("machine beta is refused: the files of a bot cannot be unpacked" in note for note in watch.notes), watch.notes
    assert {line.machine.name for line in watch.lines if line.machine} == {"alpha"}
    assert len(watch.lines) == 12


def test_a_bot_that_kills_every_machine_is_given_up(cluster: Cluster, tmp_path: Path) -> None:
    """It kills the Dask worker itself. The other games are played."""
    (tmp_path / "assassin.py").write_text(
        "import os, signal\nfrom behaviours import Behaviour\n\n\nclass Assassin(Behaviour):\n"
        "    def vote(self, view):\n"
        "        if view.turn // 4 == 3 and view.me == 0:\n"
        "            for pid in filter(str.isdigit, os.listdir('/proc')):\n"
        "                try:\n"
        "                    words = open(f'/proc/{pid}/cmdline').read().split('\\0')\n"
        "                except OSError:\n"
        "                    continue\n"
        f"                if 'cluster' in words and '{cluster.address}' in words:\n"
        "                    os.kill(int(pid), signal.SIGKILL)\n"
        "        return 0\n"
    )
    (tmp_path / "bot.toml").write_text('[traits.assassin]\nuse = "assassin:Assassin"\n')
    ended = threading.Event()

    def restart() -> None:
        while not ended.wait(0.2):
            for name, process in list(cluster.machines.items()):
                if process.poll() is not None:
                    cluster.join(name)

    keeper = threading.Thread(target=restart)
    keeper.start()
    try:
        bots = (f"bad={tmp_path / 'bot.toml'}", "seed", "random", "stay")
        watch = play_on(cluster.address, tournament(tmp_path / "results" / "cup.jsonl", *bots, blocks=1, rounds=10))
    finally:
        ended.set()
        keeper.join()
    endings = [line.ending for line in sorted(watch.lines, key=lambda line: line.game)]
    assert sorted(endings) == ["aborted", "finished", "finished", "finished"]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes certificates")
def test_only_certificates_of_the_authority_get_in(tmp_path: Path) -> None:
    """With the commands of docs/cluster.md."""
    text = (TOP / "docs" / "cluster.md").read_text()
    for authority in ("ours", "theirs"):
        (tmp_path / authority).mkdir()
        for line in re.findall(r"^\$ (openssl .*)$", text, re.MULTILINE):
            subprocess.run(shlex.split(line), cwd=tmp_path / authority, check=True, capture_output=True)

    def files(folder: str) -> dict[str, Path]:
        return {f"cluster__tls_{name}": tmp_path / folder / f"{file}.pem" for name, file in CERTIFICATES.items()}

    options = [str(word) for name, path in files("ours").items() for word in (f"--{name[9:].replace('_', '-')}", path)]
    with no_players_left():
        cluster = Cluster(tmp_path, options)
        try:
            cluster.join("alpha")
            cluster.wait_joined("alpha")
            settings = {"blocks": 1, "rounds": 2, "limits__nodes": 5}
            watch = play_on(cluster.address, tournament(tmp_path / "cup.jsonl", "stay", "random", **settings, **files("ours")))
            assert len(watch.lines) == 6
            with pytest.raises(VindibotError, match="no scheduler answers"):
                play_on(cluster.address, tournament(tmp_path / "bad.jsonl", "stay", "random", **settings, **files("theirs")))
            assert b"PRIVATE" not in cluster.output("alpha") + cluster.output("scheduler")
        finally:
            cluster.close()


# ---- The driver is a command of its own ----


def games_running(cluster: Cluster) -> bool:
    """Return whether a player of any machine uses its processor."""
    times = []
    for _ in range(2):
        with suppress(psutil.NoSuchProcess):
            found = [one for machine in cluster.machines.values() for one in descendants_of(machine, PLAYER)]
            times.append([(one.pid, sum(one.cpu_times()[:2])) for one in found])
        time.sleep(0.5)
    return len(times) < 2 or times[0] != times[1]


def command(cluster: Cluster, path: Path, *more: str) -> list[str]:
    """Return the command that plays the tournament on the cluster."""
    settings = ["--blocks", "6", "--rounds", "100", "--nodes", "300", "--size", "12", "--seed", "7", "--no-report"]
    new = [*BOTS, *settings, "--results", str(path)]
    words = ["--resume", str(path)] if more == ("--resume",) else [*new, *more]
    return [sys.executable, "-m", "vindibot", "arena", *words, "--dask", cluster.address]


def started(words: list[str], path: Path, games: int) -> subprocess.Popen[str]:
    """Start a tournament, and return it when this number of games is played."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    wait_until(lambda: path.exists() and path.read_text().count("\n") >= games, 90)
    return process


def test_a_driver_that_is_killed(cluster: Cluster, tmp_path: Path, undisturbed: list[dict[str, Any]]) -> None:
    path = tmp_path / "cup.jsonl"
    process = started(command(cluster, path), path, 5)
    process.kill()
    process.communicate()
    wait_until(lambda: not games_running(cluster), 15)
    resumed = subprocess.run(command(cluster, path, "--resume"), capture_output=True, text=True, timeout=200, check=False)
    assert resumed.returncode == 0, resumed.stderr
    assert same_games(path) == undisturbed


def test_one_interrupt_lets_games_end_and_two_end_them(
    cluster: Cluster, tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    path = tmp_path / "cup.jsonl"
    process = started(command(cluster, path), path, 3)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 130, output
    assert "finishing the games that are running" in output
    once = len(read_results(path))
    assert once < 24
    assert not players()
    process = started(command(cluster, path, "--resume"), path, once + 3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 130, output
    assert time.monotonic() - began < 8
    wait_until(lambda: not players(), 3)
    assert subprocess.run(command(cluster, path, "--resume"), capture_output=True, timeout=200, check=False).returncode == 0
    assert same_games(path) == undisturbed


@pytest.mark.timeout(900)
def test_200_games_with_a_worker_killed_every_20_seconds(cluster: Cluster, tmp_path: Path) -> None:
    settings = {**SETTINGS, "blocks": 50, "rounds": 300, "limits__nodes": 15_000}
    local = tournament(tmp_path / "local.jsonl", *BOTS, **settings)
    local.play(Watch())
    ended = threading.Event()
    kills: list[str] = []

    def kill() -> None:
        while not ended.wait(20):
            name = ("alpha", "beta")[len(kills) % 2]
            cluster.kill(name)
            kills.append(name)
            cluster.join(name)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        watch = play_on(cluster.address, tournament(tmp_path / "cup.jsonl", *BOTS, **settings, workers=2))
    finally:
        ended.set()
        killer.join()
    assert len(watch.lines) == 200
    assert len(kills) >= 3
    assert same_games(tmp_path / "cup.jsonl") == same_games(local.path)
    print(json.dumps({"kills": kills, "notes": watch.notes}, indent=1))
