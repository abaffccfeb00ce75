"""The player: a process that plays games for an arena on another machine (``python -m vindibot.cluster.remote``).

`RemotePlayer` is the class with which the parent process uses a player. The player gets requests on a socket, one at a time. It
plays each game in the sandbox, as a worker of the local arena does. The parent only waits for the answers, so no bot can disturb
the parent.

::

    request                   answer                                 meaning
    ("describe", name)        ("machine", MachineLine, BuildProof)   this machine, and the proof of its build
    ("load", Luggage)         ("loaded", problems)                   the bots of a tournament; problems are texts
    ("play", RemoteGame)      ("played", PlayedGame, logs)           logs: content by the name of the file
                              ("failed", text)                       the answer to any request that failed

A second process, the guard, starts the player. If the player ends, or if the parent ends for any reason, the guard kills the
player and all processes that bots have started, and ends. If the guard is killed, the operating system kills the player. The
player also ends after `IDLE_SECONDS` without a request.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from vindibot.base import VindibotError, adopt_orphans, die_with_parent, end_descendants, name_process

if TYPE_CHECKING:
    from vindibot.arena import Entrant

#: Names of the processes, as ``ps`` shows them.
GUARD, PLAYER = "vindibot-guard", "vindibot-player"
#: Seconds without a request after which a player ends. Its parent starts a new player when it has the next request.
IDLE_SECONDS = 60.0
#: Seconds that the parent waits for a guard that ends.
END_TIMEOUT = 5.0


class RemoteError(VindibotError):
    """A request to a player failed. `died` says whether the player has ended, so that the game itself may be at fault."""

    def __init__(self, message: str, *, died: bool = False) -> None:
        super().__init__(message)
        self.died = died

    def __reduce__(self) -> tuple[Any, ...]:
        return _remote_error, (self.message, self.died)


def _remote_error(message: str, died: bool) -> RemoteError:
    return RemoteError(message, died=died)


class RemotePlayer:
    """Starts a guard and a player, and sends requests to the player. One thread calls `ask`. Any thread may call `kill`.

    The guard and the player get the environment of this process and the variables in `environment`.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        lifeline, self._held = os.pipe()
        words = [sys.executable, "-P", "-m", "vindibot.cluster.remote", str(theirs.fileno()), str(lifeline)]
        paths = os.pathsep.join(filter(None, (str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH"))))
        self._lock = threading.Lock()
        try:
            self._guard = subprocess.Popen(
                words,
                env={**os.environ, "PYTHONPATH": paths, **environment},
                stdin=subprocess.DEVNULL,
                stdout=sys.__stderr__ if _is_open(sys.__stderr__) else subprocess.DEVNULL,
                pass_fds=[theirs.fileno(), lifeline],
                start_new_session=True,
            )
        except OSError:
            os.close(self._held)
            ours.close()
            raise
        finally:
            theirs.close()
            os.close(lifeline)
        self._connection = Connection(ours.detach())

    @property
    def pid(self) -> int:
        """The process id of the guard."""
        return self._guard.pid

    @property
    def running(self) -> bool:
        """Whether the guard runs."""
        return self._guard.poll() is None

    def ask(self, *request: Any, timeout: float | None = None) -> bytes:
        """Send a request, and return its answer as bytes. `answer_of` returns the parts of the answer.

        Wait at most `timeout` seconds; None: no limit. Raises `RemoteError` if the player ends or does not answer in time. Then
        the player is killed.
        """
        return self.ask_bytes(pickle.dumps(request), timeout)

    def ask_bytes(self, request: bytes, timeout: float | None = None) -> bytes:
        """Do the same as `ask` for a request that is pickled already."""
        try:
            self._connection.send_bytes(request)
            if not self._connection.poll(timeout):
                self.kill()
                raise RemoteError(f"a game's worker did not answer in {timeout:g} s and was killed", died=True)
            return self._connection.recv_bytes()
        except (OSError, EOFError):
            raise RemoteError("its worker died", died=True) from None

    def kill(self) -> None:
        """Let the guard end the player, all processes of bots and itself. Return at once, before they have ended."""
        with self._lock:
            if self._held >= 0:
                os.close(self._held)
                self._held = -1

    def close(self) -> None:
        """End the player, the guard and all processes of bots, and wait until they have ended."""
        self.kill()
        try:
            self._guard.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.wait()
        self._connection.close()


def _is_open(stream: Any) -> bool:
    try:
        return stream is not None and stream.fileno() >= 0
    except (OSError, ValueError):
        return False


def answer_of(data: bytes) -> tuple[Any, ...]:
    """Return the parts of an answer, without its kind. Raises `RemoteError` if the request failed."""
    kind, *parts = pickle.loads(data)
    if kind == "failed":
        raise RemoteError(parts[0])
    return tuple(parts)


# ---- In the guard and in the player ----


def main(requests: int, lifeline: int) -> NoReturn:
    """Run the guard, which starts the player.

    Both arguments are file descriptors. `requests` is the player's socket. `lifeline` is a pipe whose other end only the parent
    has.
    """
    name_process(GUARD)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    adopt_orphans()
    guard, player = os.getpid(), os.fork()
    if player == 0:
        name_process(PLAYER)
        die_with_parent()
        os.close(lifeline)
        if os.getppid() == guard:
            with contextlib.suppress(OSError, EOFError):
                _serve(Connection(requests))
        os._exit(0)
    os.close(requests)
    ended = os.pidfd_open(player)
    select.select([lifeline, ended], [], [])
    end_descendants()
    os._exit(0)


def _serve(connection: Connection) -> None:
    """Answer requests until there are none for `IDLE_SECONDS`, or until the parent ends."""
    player: _RemoteRequests | None = None
    while connection.poll(IDLE_SECONDS):
        data = connection.recv_bytes()
        try:
            if player is None:
                player = _RemoteRequests()
            answer = player.answer(*pickle.loads(data))
        except Exception as problem:
            text = problem.message if isinstance(problem, VindibotError) else _fault(problem)
            answer = ("failed", text)
        connection.send_bytes(pickle.dumps(answer))


def _fault(problem: Exception) -> str:
    """Return an unexpected error in one line, with the line of code that raised it."""
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__}: {problem} ({Path(frame.filename).name}, line {frame.lineno})"


class _RemoteRequests:
    """Answers the requests to this player."""

    def __init__(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        adopt_orphans()  # processes that bots leave behind
        self._entrants: dict[str, Entrant] = {}

    def answer(self, kind: str, *parts: Any) -> tuple[Any, ...]:
        """Return the answer to a request. The docstring of the module lists the requests and the answers."""
        if kind == "describe":
            return self._describe(*parts)
        if kind == "load":
            return self._load(*parts)
        return self._play(*parts)

    def _describe(self, name: str) -> tuple[Any, ...]:
        from vindibot.arena import this_machine
        from vindibot.cluster.proof import prove

        machine, proof = this_machine(), prove()
        return "machine", machine.model_copy(update={"name": name or machine.name, "signature": proof.signature}), proof

    def _load(self, luggage: Any) -> tuple[Any, ...]:
        from vindibot.cluster.travel import unpack_entrants

        self._entrants, problems = unpack_entrants(luggage)
        return "loaded", problems

    def _play(self, game: Any) -> tuple[Any, ...]:
        from vindibot.arena import play_task

        with _scratch_folder(wanted=bool(game.task.logs)) as logs:
            played = play_task(game.with_entrants(self._entrants, logs))
            return "played", played, _contents(logs)


@contextlib.contextmanager
def _scratch_folder(*, wanted: bool) -> Any:
    """Yield the path of a folder for the logs of a game: "" if no folder is `wanted`, or if it cannot be made."""
    try:
        scratch = tempfile.TemporaryDirectory(prefix="vindibot-logs-", ignore_cleanup_errors=True) if wanted else None
    except OSError:
        scratch = None
    if scratch is None:
        yield ""
        return
    with scratch as folder:
        yield folder


def _contents(folder: str) -> dict[str, bytes]:
    """Return the content of each file in a folder by its name."""
    found = {}
    for path in sorted(Path(folder).iterdir()) if folder else []:
        with contextlib.suppress(OSError):
            found[path.name] = path.read_bytes()
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
