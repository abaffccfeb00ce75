"""Children: what they get, how they end, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.childwork import HERE
from tests.support.commands import environment
from tests.support.waiting import is_alive, until
from vindibot.processes.child import TAIL, Child
from vindibot.processes.ending import ChildEnded, ChildEnding, ChildLate
from vindibot.processes.frames import FIRST_KIND
from vindibot.processes.keeper import KEEPER
from vindibot.processes.requests import ChildLimits, Needs
from vindibot.processes.root import ROOT, TEMPLATE
from vindibot.processes.server import ForkServer

WAIT = 60.0


def child(name: str, setup: bytes = b"", **more) -> Child:
    return Child(f"{HERE}:{name}", setup, kinds=[FIRST_KIND], **more)


def ending(one: Child) -> ChildEnding:
    """Wait for the end of a child, and return it."""
    while True:
        try:
            one.receive(WAIT)
        except ChildEnded as ended:
            return ended.ending


def asked(one: Child, question: bytes = b"") -> bytes:
    one.send(FIRST_KIND, question)
    return one.receive(WAIT).payload


def process_called(name: str, above: int | None = None) -> psutil.Process:
    """The keeper of a process, or its root."""
    (keeper,) = (child for child in psutil.Process(above).children() if child.name() == KEEPER)
    return keeper if name == KEEPER else next(child for child in keeper.children() if child.name() == name)


# ---- What a child gets ----


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A fork server that starts in the present folder."""
    monkeypatch.setattr(ForkServer, "_of_process", None)
    yield
    ForkServer.of_process().close()


@pytest.mark.usefixtures("own_server")
def test_a_child_gets_frames_setup_and_memory_and_nothing_else(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    shared = os.memfd_create("shared")
    os.write(shared, b"for all")
    os.set_inheritable(writing, True)
    try:
        with child("describe", b"words", memory=4, shared=[shared]) as one:
            told = json.loads(one.receive(WAIT).payload)
            assert bytes(one.memory) == b"seen"
            assert ending(one) == ChildEnding("exited", 0, one.ending.seconds)
    finally:
        for number in (reading, writing, shared):
            os.close(number)
    others = sorted(name.partition(":")[0] for name in told["descriptors"] if not name.startswith("/memfd"))  # its memory
    assert others == ["/dev/null", *["pipe"] * 4], told["descriptors"]
    assert told["signals"] == {"SIGTERM": signal.SIG_DFL, "SIGINT": signal.SIG_IGN, "SIGCHLD": signal.SIG_DFL}
    assert told["mask"] == 0
    assert told["session"]
    assert told["folder"] == str(Path.cwd())
    assert told["setup"] == "words"
    assert told["shared"] == ["for a"]
    assert "VINDIBOT_KERNEL_CACHE" not in told["environment"]


@pytest.mark.slow_faults
def test_a_child_has_the_environment_of_its_server() -> None:
    server = ForkServer({"VINDIBOT_WORD": "word"})
    try:
        with child("describe", memory=4, server=server) as one:
            assert json.loads(one.receive(WAIT).payload)["environment"] == ["VINDIBOT_WORD"]
    finally:
        server.close()
    assert "VINDIBOT_WORD" not in os.environ


def test_frames_go_there_and_back() -> None:
    with child("echo") as one:
        for payload in (b"", b"word", bytes(1 << 20)):
            assert asked(one, payload) == payload
        with pytest.raises(ChildLate, match="no answer"):
            one.receive(0.01)
        assert asked(one, b"again") == b"again"


async def test_a_child_can_be_watched_by_an_event_loop() -> None:
    with child("echo") as one:
        arrived: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def look() -> None:
            for frame in one.take():
                arrived.set_result(frame.payload)

        for descriptor in one.descriptors:
            asyncio.get_running_loop().add_reader(descriptor, look)
        one.send(FIRST_KIND, b"word")
        try:
            assert await asyncio.wait_for(arrived, WAIT) == b"word"
        finally:
            for descriptor in one.descriptors:
                asyncio.get_running_loop().remove_reader(descriptor)


@pytest.mark.slow_faults
def test_the_output_of_a_child_is_stored_up_to_a_limit() -> None:
    with child("prints", b"2") as one:
        assert ending(one).last_lines == "line 0\nline 1\nthe end"
        assert one.output == b"line 0\nline 1\nthe end\n"
    with child("prints", b"100000", limits=ChildLimits(output=100)) as one:
        assert ending(one).last_lines.endswith("line 99999\nthe end")
        assert one.output.startswith(b"line 0\nline 1\n")
        assert len(one.output) < 100 + TAIL + 20
    with child("prints", b"100000", limits=ChildLimits(output=0)) as one:
        assert ending(one).last_lines == ""


# ---- How it ends ----


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [
        ("nothing", "exited", "exit code 0"),
        ("exits", "exited", "exit code 3"),
        ("raises", "exited", "exit code 1"),
        ("segfaults", "killed", "signal SIGSEGV"),
        ("kills itself", "killed", "signal SIGKILL"),
        ("stops", "killed", "signal SIGSTOP"),
        ("writes", "malformed", "an invalid message"),
        ("sends too much", "malformed", "an invalid message"),
        ("sends another kind", "malformed", "an invalid message"),
        ("closes", "malformed", "an invalid message"),
    ],
)
def test_each_end_has_a_kind_and_words(how: str, kind: str, words: str) -> None:
    with child("ends", how.encode()) as one:
        ended = ending(one)
    assert (ended.kind, str(ended)) == (kind, words)
    assert ended.by_us == (kind == "malformed")
    if how == "raises":
        assert ended.last_lines.endswith("ValueError: no idea")


def test_a_child_without_memory_says_so() -> None:
    with child("ends", b"allocates", limits=ChildLimits(memory_mb=100)) as one:
        assert str(ending(one)) == "out of memory"
    with child("ends", b"kills itself", limits=ChildLimits(memory_mb=100)) as one:
        assert str(ending(one)) == "out of memory"


@pytest.mark.parametrize("how", ["hangs", "blocks all signals and hangs"])
def test_a_child_ends_when_its_time_is_over(how: str) -> None:
    with child("ends", how.encode(), limits=ChildLimits(seconds=0.2)) as one:
        ended = ending(one)
    assert (ended.kind, ended.by_us, ended.code) == ("time", True, -signal.SIGKILL)
    assert "no end in" in str(ended)


@pytest.mark.parametrize("how", ["hangs", "blocks all signals and hangs", "floods"])
def test_a_child_that_its_owner_kills_ends(how: str) -> None:
    with child("ends", how.encode()) as one:
        while not one.pid:
            one.take()
        one.kill()
        ended = ending(one)
        assert (ended.kind, ended.by_us) == ("stopped", True)
        assert not is_alive(one.pid)


def test_a_child_can_be_killed_before_it_has_started() -> None:
    one = child("ends", b"hangs")
    one.kill()
    assert one.ending.kind == "stopped"
    one.close()
    with child("ends", b"hangs") as one:
        one.kill()
        assert ending(one).kind == "stopped"


def test_a_child_that_reads_nothing_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.processes.child.SEND_SECONDS", 0.1)
    with child("ends", b"hangs") as one:
        one.send(FIRST_KIND, bytes(1 << 22))
        assert ending(one).kind == "stopped"


def test_a_child_has_no_more_descriptors_than_its_limit() -> None:
    with child("describe", memory=4, limits=ChildLimits(descriptors=32)) as one:
        assert json.loads(one.receive(WAIT).payload)["limit"] == 32


async def test_what_a_child_has_started_ends_with_it() -> None:
    with child("starts_daemons") as one:
        daemons = json.loads(one.receive(WAIT).payload)
        assert all(map(is_alive, daemons))
        one.kill()
        assert ending(one).kind == "stopped"
        assert not any(map(is_alive, daemons)), "the end is reported when nothing is left"
    with child("starts_daemons") as one:
        daemons = json.loads(one.receive(WAIT).payload)
        one.send(FIRST_KIND)
        assert str(ending(one)) == "exit code 0"
        assert not any(map(is_alive, daemons))


OWNER = """
import sys
from tests.support.childwork import HERE
from vindibot.processes.child import Child
from vindibot.processes.requests import Needs
child = Child(HERE + ":" + sys.argv[1], kinds=[16])
with child:
    print(child.receive(60).text, flush=True)
    sys.stdin.read()
"""


def running(program: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    )


@pytest.mark.slow_faults
@pytest.mark.parametrize("name", ["runs_a_kernel", "starts_daemons"])
@pytest.mark.parametrize(
    ("killed", "stopped"),
    [
        (["owner"], []),
        (["owner"], [ROOT]),
        (["owner"], [KEEPER, ROOT]),
        ([KEEPER, "owner"], []),
        ([], []),
    ],
)
async def test_a_child_dies_with_its_owner(name: str, killed: list[str], stopped: list[str]) -> None:
    """Although it runs a kernel, and the keeper is gone or stopped, or the root is stopped."""
    with running(OWNER, name) as owner:
        line = owner.stdout.readline()
        pids = [json.loads(line)] if name == "runs_a_kernel" else json.loads(line)
        pids += [process.pid for process in psutil.Process(owner.pid).children(recursive=True)]
        harmed = {one: process_called(one, owner.pid) for one in {*killed, *stopped} - {"owner"}}
        for one in stopped:
            harmed[one].suspend()
        for one in killed:
            (owner if one == "owner" else harmed[one]).kill()
        owner.stdin.close()
    await until(lambda: not any(map(is_alive, pids)))


# ---- Servers that end ----


def kill(process: psutil.Process) -> None:
    process.kill()


def stop(process: psutil.Process) -> None:
    process.suspend()


def new_child_answers() -> bool:
    """Start children until one has not met the end of its server."""
    while True:
        with child("echo") as one:
            try:
                return asked(one, b"too") == b"too"
            except ChildEnded as ended:
                if ended.ending.kind != "not started":
                    raise


@pytest.mark.slow_faults
@pytest.mark.parametrize("harm", [kill, stop])
@pytest.mark.parametrize("harmed", [KEEPER, ROOT])
async def test_children_go_on_without_their_server_and_new_ones_start(
    harm: Callable[[psutil.Process], None], harmed: str
) -> None:
    with child("echo") as one:
        assert asked(one, b"before") == b"before"
        harm(process_called(harmed))
        assert asked(one, b"after") == b"after"
        assert new_child_answers()
        one.kill()
        assert ending(one).kind in ("stopped", "killed")
        assert not is_alive(one.pid)
    ForkServer.of_process().close()
    await until(lambda: not {KEEPER, ROOT} & {process.name() for process in psutil.Process().children(recursive=True)})


def test_a_keeper_that_is_stopped_goes_on() -> None:
    with child("echo") as one:
        assert asked(one, b"before") == b"before"
        keeper, root = process_called(KEEPER), process_called(ROOT)
        for _ in range(3):
            keeper.suspend()
        root.kill()
        assert new_child_answers()
        assert process_called(KEEPER) == keeper


@pytest.mark.slow_faults
async def test_a_stopped_server_and_a_stopped_child_end() -> None:
    with child("ends", b"stops") as one:
        while not one.pid:
            one.take()
        for name in (ROOT, KEEPER):
            process_called(name).suspend()
        ForkServer.of_process().close()
    await until(lambda: not is_alive(one.pid))


# ---- Templates ----


@pytest.fixture
def needs(tmp_path: Path) -> Callable[..., Needs]:
    """Return needs of modules with these contents, each in a folder of its own."""

    def make(content: str, name: str = "own_module", folder: str = "a") -> Needs:
        path = tmp_path / folder / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        return Needs((str(path.parent),), (name,))

    return make


@pytest.mark.slow_faults
def test_a_template_has_imported_its_modules_before_it_forks(needs: Callable[..., Needs]) -> None:
    first, second = needs("FOUND = 1"), needs("FOUND = 2", folder="b")
    found = []
    for wanted in (first, second, first):
        with child("imports", b"own_module", needs=wanted) as one:
            found.append(json.loads(one.receive(WAIT).payload))
    assert [told[:2] for told in found] == [[True, 1], [True, 2], [True, 1]]
    assert found[0][2] == found[2][2] != found[1][2], "each bot has one template"
    with child("imports", b"json") as one:
        assert json.loads(one.receive(WAIT).payload)[2] == process_called(ROOT).pid


@pytest.mark.parametrize("has_template", [False, True])
def test_a_crash_prints_the_stack(has_template: bool, needs: Callable[..., Needs]) -> None:
    with child("ends", b"segfaults", needs=needs("") if has_template else Needs()) as one:
        ending(one)
    assert b"childwork.py" in one.output


@pytest.mark.parametrize(
    "content",
    [
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
        "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
        "import os, signal; os.kill(os.getppid(), signal.SIGSTOP)",
        "import os; [os.write(fd, bytes(8)) for fd in range(3, 64) if os.path.exists(f'/proc/self/fd/{fd}')]",
        "import posix; posix._exit(0)",
        "import os; os.closerange(0, 100)",
        "raise BaseException",
    ],
)
def test_a_module_that_ends_its_template_is_imported_by_the_children(content: str, needs: Callable[..., Needs]) -> None:
    wanted = needs(content)
    for _ in range(2):
        with child("echo", needs=wanted) as one:
            assert asked(one, b"word") == b"word"
        with child("imports", b"own_module", needs=wanted, limits=ChildLimits(seconds=0.5)) as one:
            assert ending(one).kind != "not started"


@pytest.mark.slow_faults
def test_a_template_that_hangs_is_given_up(needs: Callable[..., Needs]) -> None:
    wanted = needs("import time; time.sleep(1000)")
    with child("echo", needs=wanted) as one:
        assert asked(one, b"word") == b"word"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_child_that_ends_its_template_harms_nobody(number: int, needs: Callable[..., Needs]) -> None:
    wanted = needs("")
    with child("kills_parent", needs=wanted) as one, child("starts_daemons", needs=wanted) as other:
        daemons = json.loads(other.receive(WAIT).payload)
        template = int(asked(one, str(int(number)).encode()))
        await until(lambda: not is_alive(template))
        with child("echo", needs=wanted) as third:
            assert asked(third, b"word") == b"word"
        for daemon in daemons:
            assert is_alive(daemon)
        other.send(FIRST_KIND)
        assert str(ending(other)) == "exit code 0", "the root has taken over the child"
        assert not any(map(is_alive, daemons))
        one.kill()
        assert ending(one) == ChildEnding("stopped", -signal.SIGKILL, one.ending.seconds)


def test_a_template_that_dies_at_any_time_loses_no_request(needs: Callable[..., Needs]) -> None:
    wanted = needs("")
    for number in range(6):
        with child("echo", needs=wanted) as one:
            assert asked(one, b"word") == b"word"
            template = psutil.Process(one.pid).parent()
        with contextlib.ExitStack() as stack:
            children = [stack.enter_context(child("echo", needs=wanted)) for _ in range(6)]
            if number:
                asked(children[number - 1], b"word")
            template.kill()
            assert [asked(one, b"word") for one in children] == [b"word"] * 6


async def test_templates_that_die_together_lose_no_child(needs: Callable[..., Needs]) -> None:
    wanted = [needs("", folder=name) for name in "abc"]
    for _ in range(3):
        with contextlib.ExitStack() as stack:
            children = [stack.enter_context(child("echo", needs=one)) for one in wanted]
            assert [asked(one, b"word") for one in children] == [b"word"] * 3
            templates = [psutil.Process(one.pid).parent() for one in children]
            for template in templates:
                template.kill()
            await until(lambda templates=templates: not any(is_alive(template.pid) for template in templates))
            with child("echo", needs=wanted[0]) as another:
                assert asked(another, b"word") == b"word"
            assert [asked(one, b"more") for one in children] == [b"more"] * 3


async def test_the_children_of_a_template_whose_root_ends_are_still_reported(needs: Callable[..., Needs]) -> None:
    with child("starts_daemons", needs=needs("")) as one:
        daemons = json.loads(one.receive(WAIT).payload)
        template = psutil.Process(one.pid).parent()
        assert template.name() == TEMPLATE
        process_called(ROOT).kill()
        one.send(FIRST_KIND)
        assert str(ending(one)) == "exit code 0"
        assert not any(map(is_alive, daemons))
        await until(lambda: not is_alive(template.pid))


# ---- Children of children ----


@pytest.mark.slow_faults
async def test_a_child_that_spawns_has_children_which_die_with_it(needs: Callable[..., Needs]) -> None:
    wanted = needs("")
    for setup in (Needs(), wanted):
        with child("spawns", json.dumps(setup).encode(), spawns=True) as one:
            pid, word = json.loads(asked(one, b"word"))
            assert word == "word"
            assert is_alive(pid)
            one.kill()
            assert ending(one).kind == "stopped"
            await until(lambda pid=pid: not is_alive(pid))


# ---- A poor system ----

POOR = """
import os, resource, signal, sys, tempfile
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
from contextlib import ExitStack
from tests.support.childwork import HERE
from vindibot.processes.child import Child
from vindibot.processes.requests import ChildLimits, Needs
needs = Needs((sys.argv[1],), ("own_module",))
with ExitStack() as stack:
    children = [stack.enter_context(Child(HERE + ":echo", needs=needs, memory=100, kinds=[16])) for _ in range(8)]
    for child in children:
        child.send(16, b"word")
    print(b" ".join(child.receive(60).payload for child in children).decode())
"""


@pytest.mark.slow_faults
def test_eight_children_need_less_than_64_descriptors_and_no_folder(needs: Callable[..., Needs], tmp_path: Path) -> None:
    """TMPDIR is long and does not exist, and the signal for the end of a child is ignored."""
    (folder,) = needs("").folders
    ran = subprocess.run(
        [sys.executable, "-c", POOR, folder],
        env=environment(TMPDIR=f"/{'long' * 40}"),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("word " * 7 + "word\n", "")
