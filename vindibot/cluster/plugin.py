"""What runs in a Dask worker on a machine: functions that Dask calls in threads, and a plugin that keeps the players.

A thread of Dask only waits for the answer of a player (`vindibot.cluster.player`). If Dask releases a running call, because its
arena is gone or has cancelled the game, the plugin kills the player of this call.

Requests and answers are bytes here. So the Dask worker itself loads neither kernels nor bots. The functions raise no errors of
ours: the answer says what failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker

from vindibot.cluster.answers import FailureAnswer, LoadedAnswer
from vindibot.cluster.player import PROVE_SECONDS, RUN, ClusterPlayer, request_of
from vindibot.processes.ending import ChildEnded, ChildEnding, ChildLate
from vindibot.processes.requests import Needs
from vindibot.processes.server import ForkServer
from vindibot.processes.tasks import TaskError

#: Prefix of the names of plugins and of the keys of games.
PREFIX = "vindibot-"
#: Largest number of seconds for a Dask worker to add a plugin, and for a player to load and to check bots.
ADD_SECONDS, LOAD_SECONDS = 30.0, 300.0
#: A player is killed this number of seconds after the wall limit of its game.
WALL_MARGIN = 60.0
#: Seconds without a call after which the players and their fork server end. The next call starts them again.
IDLE_SECONDS = 60.0
#: Number of players that a call may use, one after the other, if players can start no processes.
ATTEMPTS = 3
#: The attribute of a Dask worker with the name of its machine, which `vindibot cluster join` sets.
NAME_ATTRIBUTE = "vindibot_name"

_NO_PROBLEMS = LoadedAnswer(problems=()).encode()
_NOT_LOADED = FailureAnswer(reason="the bots are not loaded", not_loaded=True).encode()


class GamesPlugin(WorkerPlugin):  # type: ignore[misc]  # Dask has no types
    """Keeps the players of one tournament on one Dask worker. `environment` has environment variables for the players."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._server = ForkServer(environment)
        self._server.prepare(RUN, Needs())
        self._load = b""
        self._lock = threading.Lock()
        self._idle: list[ClusterPlayer] = []
        self._busy: dict[str, ClusterPlayer] = {}
        self._released: set[str] = set()
        self._rest: threading.Timer | None = None
        self._closed = False

    def transition(self, key: Any, start: str, finish: str, **more: Any) -> None:
        """Kill the player of a running call that Dask releases. See `WorkerPlugin`."""
        if start == "executing" and finish in ("released", "cancelled") and str(key).startswith(PREFIX):
            with self._lock:
                if (player := self._busy.get(str(key))) is not None:
                    player.kill()
                else:
                    self._released.add(str(key))

    def teardown(self, worker: Worker) -> None:
        """End all players. See `WorkerPlugin`."""
        with self._lock:
            self._closed = True
            for player in self._busy.values():
                player.kill()  # the thread of a busy player closes it
            self._end_idle_players()

    @property
    def loaded(self) -> bool:
        """Whether the plugin has the bots of the tournament."""
        return bool(self._load)

    def describe(self, key: str, name: str) -> bytes:
        """Return a description of this machine, with the proof of its build. `key` is the key of the call."""
        return self._ask(key, request_of("describe", name), PROVE_SECONDS, bots=False)

    def load(self, key: str, request: bytes) -> bytes:
        """Let a player load the bots with `request`, and check them. Later players get this request, too."""
        self._load = request
        return self._ask(key, request_of("check"), LOAD_SECONDS)

    def play(self, key: str, request: bytes, wall_s: float) -> bytes:
        """Let a player play a game."""
        return self._ask(key, request, wall_s + WALL_MARGIN)

    def _ask(self, key: str, request: bytes, seconds: float, *, bots: bool = True) -> bytes:
        """Return the answer of a player to a request. With `bots`, the player loads the bots first, if necessary."""
        answer = b""
        try:
            for _ in range(ATTEMPTS):
                with self._player(key) as player:
                    if bots and not player.loaded:
                        told = player.ask(self._load, LOAD_SECONDS)
                        if told != _NO_PROBLEMS:
                            return told
                        player.loaded = True
                    answer = player.ask(request, seconds)
                if answer:
                    return answer
        except TaskError as problem:
            return FailureAnswer(reason=problem.message).encode()
        except ChildLate:
            return _ended(ChildEnding("time", None, seconds))
        except ChildEnded as death:
            return _ended(death.ending)
        except _Cancelled:
            return FailureAnswer(reason="the game was cancelled").encode()
        return _ended(ChildEnding("not started", None, 0.0))

    @contextlib.contextmanager
    def _player(self, key: str) -> Iterator[ClusterPlayer]:
        """Yield an idle player, or a new player, for the call with this key.

        If the ``with`` block raises an error, end the player.
        """
        with self._lock:
            self._check_open(key)
            self._stop_rest()
            player = self._idle.pop() if self._idle else None
            if player is not None and not player.is_usable():
                player.close()
                player = None
            player = self._busy[key] = player or ClusterPlayer(self._server)
        try:
            yield player
        except BaseException:
            with self._lock:
                self._end_call(key)
            player.close()
            raise
        with self._lock:
            self._idle.append(player)
            self._end_call(key)

    def _end_call(self, key: str) -> None:
        del self._busy[key]
        if self._closed:
            self._end_idle_players()
        elif not self._busy:
            self._rest = threading.Timer(IDLE_SECONDS, self._end_if_idle)
            self._rest.daemon = True
            self._rest.start()

    def _end_if_idle(self) -> None:
        with self._lock:
            if not self._busy:
                self._end_idle_players()

    def _end_idle_players(self) -> None:
        """End the players without calls. If no others are left, end the fork server, too."""
        self._stop_rest()
        for player in self._idle:
            player.close()
        self._idle.clear()
        if not self._busy:
            self._server.close()

    def _stop_rest(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    def _check_open(self, key: str) -> None:
        if self._closed or key in self._released:
            self._released.discard(key)
            raise _Cancelled


def _ended(ending: ChildEnding) -> bytes:
    """Return the answer for a player that has ended."""
    return FailureAnswer(reason=f"its player ended with {ending}", ending=ending).encode()


class _Cancelled(Exception):  # noqa: N818
    """Dask has released a call, or the plugin is removed."""


# ---- Called by Dask ----


def describe(tournament: str, environment: Mapping[str, str]) -> bytes:
    """Add a plugin that plays the games of a tournament. Return a description of this machine."""
    worker = get_worker()
    plugin = GamesPlugin(environment)
    _call(worker.plugin_add(plugin=plugin, name=PREFIX + tournament))
    return plugin.describe(_key(), getattr(worker, NAME_ATTRIBUTE, ""))


def load(tournament: str, request: bytes) -> bytes:
    """Load the bots of a tournament with `request`, and return the answer."""
    plugin = _plugin(tournament)
    return _NOT_LOADED if plugin is None else plugin.load(_key(), request)


def play(tournament: str, game: bytes, wall_s: float) -> bytes:
    """Play a game, and return the answer of the player."""
    plugin = _plugin(tournament)
    return _NOT_LOADED if plugin is None or not plugin.loaded else plugin.play(_key(), game, wall_s)


def release(tournament: str) -> None:
    """Remove the plugin of a tournament, and end its players."""
    worker = get_worker()
    if PREFIX + tournament in worker.plugins:
        _call(worker.plugin_remove(name=PREFIX + tournament))


def _plugin(tournament: str) -> GamesPlugin | None:
    plugin = get_worker().plugins.get(PREFIX + tournament)
    return plugin if isinstance(plugin, GamesPlugin) else None


def _key() -> str:
    """Return Dask's key of the call that this thread runs."""
    return str(get_worker().get_current_task())


def _call(work: Coroutine[Any, Any, Any]) -> None:
    """Run a coroutine in the loop of the Dask worker, and wait for its end."""
    asyncio.run_coroutine_threadsafe(work, get_worker().loop.asyncio_loop).result(ADD_SECONDS)
