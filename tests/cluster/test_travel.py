"""What travels to other machines: bundles of files, bots, proofs of builds; and which addresses are safe."""

from __future__ import annotations

import dataclasses
import io
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sim.cache import sources
from tests.support.arenabots import bad_trait, line_bot, schedule
from vindibot.arena.games import play_task
from vindibot.arena.settings import ClusterSettings
from vindibot.base.errors import UsageError
from vindibot.cluster import bundles, travel
from vindibot.cluster.access import check_address, check_cluster, is_loopback
from vindibot.cluster.answers import FailureAnswer, LoadedAnswer, MachineError, ProofAnswer, answer_of
from vindibot.cluster.checks import problems_of
from vindibot.cluster.player import ClusterPlayer, request_of
from vindibot.cluster.proof import PACKAGES, BuildProof, fixed_games, prove
from vindibot.config.signature import build
from vindibot.processes.ending import ChildEnded, ChildEnding
from vindibot.processes.server import ForkServer
from vindibot.processes.tasks import TaskError


def zipped(*names: str, content: bytes = b"x") -> bytes:
    """Return a bundle with files of these names."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as bundle:
        for name in names:
            bundle.writestr(name, content)
    return target.getvalue()


def test_a_bundle_has_the_files_of_a_bot_and_nothing_else(tmp_path: Path) -> None:
    bot = tmp_path / "bot"
    for name in (
        "coward.py",
        "data/book.bin",
        ".git/config",
        "__pycache__/a.pyc",
        "results/cup.jsonl",
        "env/pyvenv.cfg",
        "run.sh",
    ):
        path = bot / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (bot / "run.sh").chmod(0o755)
    data = bundles.pack(bot)
    assert data == bundles.pack(bot)
    cache = tmp_path / "cache"
    folder = bundles.unpack(data, bundles.digest(data), cache)
    assert folder == cache / bundles.digest(data)
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    assert found.keys() == {"coward.py", "data/book.bin", "run.sh"}
    assert found["data/book.bin"].read_text() == "data/book.bin"
    assert [found[name].stat().st_mode & 0o777 for name in ("coward.py", "run.sh")] == [0o444, 0o555]
    assert bundles.unpack(data, bundles.digest(data), cache) == folder
    assert list(cache.iterdir()) == [folder]


@pytest.mark.parametrize("name", ["../evil.py", "/etc/evil", "a/../../evil", "..", "a\\..\\evil"])
def test_a_bundle_cannot_leave_its_folder(tmp_path: Path, name: str) -> None:
    data = zipped("good.py", name)
    with pytest.raises(bundles.BundleError, match="would leave its folder"):
        bundles.unpack(data, bundles.digest(data), tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
    assert list(tmp_path.rglob("evil*")) == []


def test_a_bundle_that_is_damaged_or_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = zipped("good.py", content=bytes(5000))
    with pytest.raises(bundles.BundleError, match="damaged on their way"):
        bundles.unpack(data + b"x", bundles.digest(data), tmp_path / "cache")
    with pytest.raises(bundles.BundleError, match="cannot be unpacked"):
        bundles.unpack(data[:-9], bundles.digest(data[:-9]), tmp_path / "cache")
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "book.bin").write_bytes(bytes(5000))
    monkeypatch.setattr(bundles, "MAX_BYTES", 4000)
    with pytest.raises(bundles.BundleError, match="too many or too large"):
        bundles.unpack(data, bundles.digest(data), tmp_path / "cache")
    with pytest.raises(UsageError, match="put the bot into a folder of its own"):
        bundles.pack(tmp_path / "bot")
    assert list((tmp_path / "cache").iterdir()) == []


def test_only_the_folders_of_own_traits_travel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(travel, "cache_folder", lambda: tmp_path / "cache")
    mine = tmp_path / "mine"
    mine.mkdir()
    plan = schedule("seed", f"bad={bad_trait(mine, 'Answers', what='0')}", "random", line_bot())
    luggage = pickle.loads(pickle.dumps(travel.pack_entrants(plan.entrants)))
    assert list(luggage.digests) == [str(mine)]
    entrants = travel.unpack_entrants(luggage)
    assert problems_of([*entrants.values()]) == []
    bot = entrants["bad"].bot
    assert bot is not None
    assert bot.folders == (str(tmp_path / "cache" / luggage.digests[str(mine)]),)
    assert entrants["seed"].bot is not None
    assert entrants["seed"].bot.folders == ()
    task = next(plan.tasks())
    game = pickle.loads(pickle.dumps(travel.RemoteGame.of(task)))
    there = game.with_entrants(entrants, "")
    assert [(seat.entrant.label, seat.seed) for seat in there.seats] == [(seat.entrant.label, seat.seed) for seat in task.seats]
    assert play_task(there).line.played == play_task(task).line.played


def test_a_bot_that_a_machine_does_not_have(tmp_path: Path) -> None:
    program = tmp_path / "program.sh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    plan = schedule(f"stdio:{program}", f"http:sh {program}", f"bad={bad_trait(tmp_path, 'Answers', what='0')}", "stay")
    luggage = travel.pack_entrants(plan.entrants)
    program.write_text("#!/bin/sh\n# changed\n")
    changed = [dataclasses.replace(one, bot=one.bot and dataclasses.replace(one.bot, digest="0")) for one in luggage.entrants]
    problems = problems_of([*travel.unpack_entrants(dataclasses.replace(luggage, entrants=tuple(changed))).values()])
    assert [problem.partition(": ")[2] for problem in problems] == [
        *["the files that its command names differ from those on the arena's machine"] * 2,
        "its traits come from a package that differs from the one on the arena's machine",
    ]
    program.unlink()
    assert f"bot program: there is no program {program}" in problems_of([*travel.unpack_entrants(luggage).values()])


@pytest.mark.slow
def test_a_proof_says_what_differs() -> None:
    proof = prove()
    assert proof == prove()
    assert proof.differences(proof) == []
    assert len({task.map_name for task in fixed_games()}) == 3
    other = dataclasses.replace(build(), numba="0.1", sources="0")
    assert proof.differences(dataclasses.replace(proof, build=other, moves="0")) == [
        f"sources is 0 there and {build().sources} here",
        f"numba is 0.1 there and {build().numba} here",
    ]
    code = proof.differences(dataclasses.replace(proof, code="0"))
    assert code == [f"the sources of vindibot have the digest 0 there and {sources.digest(PACKAGES)} here"]
    (moves,) = proof.differences(dataclasses.replace(proof, moves="0"))
    assert "rounds numbers differently" in moves
    assert proof.signature != BuildProof(build(), proof.code, "0").signature


@pytest.fixture
def player() -> Iterator[ClusterPlayer]:
    server = ForkServer()
    player = ClusterPlayer(server)
    yield player
    player.close()
    server.close()


@pytest.mark.slow
def test_a_player_tells_of_faults_and_answers_again(player: ClusterPlayer) -> None:
    with pytest.raises(TaskError, match="KeyError"):
        player.ask(request_of("play", travel.RemoteGame.of(next(schedule("stay", "random").tasks()))), 60)
    told = answer_of(player.ask(request_of("describe", "alpha"), 100), ProofAnswer)
    assert told.machine.name == "alpha"
    assert told.proof == prove()
    assert player.is_usable()
    player.kill()
    assert not player.is_usable()
    with pytest.raises(ChildEnded, match="a kill by its owner"):
        player.ask(request_of("check"), 60)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"\x80\x04N.",
        None,
        pickle.dumps({"problems": ()}),
        b'{"problems": 3}',
        b'{"problems": [], "more": 1}',
        "\ud800",
    ],
)
def test_an_answer_that_is_not_valid(data: Any) -> None:
    with pytest.raises(MachineError, match="its answer is not valid"):
        answer_of(data, LoadedAnswer)


def test_an_answer_may_be_a_failure() -> None:
    ending = ChildEnding("killed", -9, 1.5)
    with pytest.raises(MachineError, match="no idea") as caught:
        answer_of(FailureAnswer(reason="no idea", ending=ending).encode(), LoadedAnswer)
    assert caught.value.answer.ending == ending


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"address": "tcp://127.0.0.1:8786"}, ""),
        ({"address": "tcp://localhost:8786"}, ""),
        ({"address": "tcp://[::1]:8786"}, ""),
        ({"address": "local"}, ""),
        ({"address": "tcp://10.0.0.1:8786"}, "is not encrypted"),
        ({"address": "tcp://127.0.0.1.evil.example:8786"}, "is not encrypted"),
        ({"address": "tcp://10.0.0.1:8786", "insecure": True}, ""),
        ({"address": "tls://10.0.0.1:8786"}, "tls_ca_file, tls_cert, tls_key missing"),
        ({"address": "tcp://127.0.0.1:8786", "tls_key": Path("key.pem")}, "use tls://"),
        ({"address": "127.0.0.1:8786"}, "is not the address of a scheduler"),
        ({"address": "tcp://127.0.0.1:99999"}, "is not the address of a scheduler"),
        ({"address": "ucx://127.0.0.1:8786"}, "is not the address of a scheduler"),
    ],
)
def test_an_address_must_be_safe(settings: dict[str, Any], problem: str) -> None:
    found = ClusterSettings.model_validate(settings)
    if not problem:
        check_address(found)
        return
    with pytest.raises(UsageError) as caught:
        check_address(found)
    assert problem in caught.value.message


def test_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "10.0.0.1", "example.org", "localhost.example.org", "")))


def test_a_missing_dask_and_a_missing_key_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {name: tmp_path / f"{name}.pem" for name in ("tls_ca_file", "tls_cert", "tls_key")}
    with pytest.raises(UsageError, match=r"tls_ca_file\.pem: cannot be read: No such file"):
        check_cluster(ClusterSettings.model_validate({"address": "tls://10.0.0.1:8786", **files}))
    monkeypatch.setattr("vindibot.cluster.access.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'vindibot\[cluster\]'") as caught:
        check_cluster(ClusterSettings(address="local"))
    assert caught.value.exit_code == 2
