"""Functions that tests run in child processes, harmless ones and others."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from vindibot.processes.child import Child
from vindibot.processes.frames import FIRST_KIND
from vindibot.processes.inside import Owner
from vindibot.processes.requests import Needs
from vindibot.processes.tasks import serve_tasks

HERE = "tests.support.childwork"


def echo(owner: Owner) -> None:
    """Answer each frame with the same frame."""
    for frame in owner.requests():
        owner.send(frame.kind, frame.payload, frame.channel)


def describe(owner: Owner) -> None:
    """Tell what the child sees of its process."""
    described = {
        "descriptors": targets(),
        "signals": {one.name: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)},
        "mask": len(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "session": os.getsid(0) == os.getpid() == os.getpgid(0),
        "folder": os.getcwd(),
        "setup": owner.setup.decode(),
        "shared": [bytes(one[:5]).decode() for one in owner.shared],
        "environment": sorted(name for name in os.environ if name.startswith("VINDIBOT")),
        "limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }
    owner.memory[:4] = b"seen"
    owner.send(FIRST_KIND, json.dumps(described).encode())


def targets() -> list[str]:
    """Return what the descriptors of this process refer to."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the folder itself
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return found


def prints(owner: Owner) -> None:
    """Print as many lines as the setup says, by Python and by the system."""
    for line in range(int(owner.setup)):
        print("line", line)
    sys.stdout.flush()
    os.write(2, b"the end\n")


def ends(owner: Owner) -> None:
    """End in the way that the setup says."""
    match owner.setup.decode():
        case "exits":
            os._exit(3)
        case "raises":
            raise ValueError("no idea")
        case "segfaults":
            ctypes.string_at(0)
        case "kills itself":
            os.kill(os.getpid(), signal.SIGKILL)
        case "allocates":
            bytearray(1 << 32)
        case "hangs":
            time.sleep(1000)
        case "blocks all signals and hangs":
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            time.sleep(1000)
        case "stops":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "writes":
            for number in range(3, 100):
                with contextlib.suppress(OSError):
                    os.write(number, b"no frame at all")
            time.sleep(1000)
        case "sends too much":
            owner.send(FIRST_KIND, bytes((1 << 20) + 1))
        case "sends another kind":
            owner.send(99)
            time.sleep(1000)
        case "closes":
            os.closerange(3, 100)
            time.sleep(1000)
        case "floods":
            while True:
                owner.send(FIRST_KIND, bytes(1000))


def starts_daemons(owner: Owner) -> None:
    """Start a process in another session and one in this, tell their process ids, and wait."""
    sleeper = [sys.executable, "-c", "import time; time.sleep(1000)"]
    started = [subprocess.Popen(sleeper, start_new_session=new).pid for new in (True, False)]
    owner.send(FIRST_KIND, json.dumps(started).encode())
    owner.receive()


def runs_a_kernel(owner: Owner) -> None:
    """Run machine code that holds the lock of the interpreter and never ends."""
    owner.send(FIRST_KIND, str(os.getpid()).encode())
    ctypes.PyDLL(None).pause()


def kills_parent(owner: Owner) -> None:
    """Kill or stop the parent by the signal in each frame, then answer."""
    for frame in owner.requests():
        parent = os.getppid()
        os.kill(parent, int(frame.payload))
        owner.send(FIRST_KIND, str(parent).encode())


def spawns(owner: Owner) -> None:
    """Have a child of its own, with the needs in the setup, and pass frames on to it."""
    needs = Needs(*map(tuple, json.loads(owner.setup)))
    with Child(f"{HERE}:echo", needs=needs, kinds=[FIRST_KIND]) as child:
        for frame in owner.requests():
            child.send(FIRST_KIND, frame.payload)
            answer = child.receive(60)
            owner.send(FIRST_KIND, json.dumps([child.pid, answer.text]).encode())


def imports(owner: Owner) -> None:
    """Import the module in the setup, and tell whether it was there before, and its process."""
    name = owner.setup.decode()
    before = name in sys.modules
    module = __import__(name)
    owner.send(FIRST_KIND, json.dumps([before, getattr(module, "FOUND", None), os.getppid()]).encode())


def works(owner: Owner) -> None:
    """Do tasks: a task is a Python expression."""
    serve_tasks(owner, lambda task: str(eval(task)).encode())


def never_ready(owner: Owner) -> None:
    """End before the first task."""
    Path("/nowhere/at/all").read_text()
