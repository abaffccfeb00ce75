"""What runs on a machine of the cluster: functions that a Dask worker calls in its threads, and a plugin that keeps the players.

A player is a process that plays games (`vindibot.cluster.remote`). The threads of Dask only wait for its answers. If Dask
releases a running game, because its arena is gone or has cancelled it, the plugin kills the player of this game.

Games and their results are bytes here. So the Dask worker itself loads neither kernels nor bots.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import threading
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker

from vindibot.cluster.remote import RemoteError, RemotePlayer, answer_of

#: Prefix of the names of plugins and of the keys of games.
PREFIX = "vindibot-"
#: Largest number of seconds for a Dask worker to add a plugin, for a player to prove its build (it may compile kernels), and for
#: a player to load bots.
ADD_TIMEOUT, PROVE_TIMEOUT, LOAD_TIMEOUT = 30.0, 900.0, 300.0
#: A player is killed this number of seconds after the wall limit of its game.
WALL_MARGIN = 60.0
#: The attribute of a Dask worker with the name of its machine, which `vindibot cluster join` sets.
NAME_ATTRIBUTE = "vindibot_name"


class NotLoadedError(Exception):
    """The machine has no plugin for the tournament."""


@dataclass(eq=False)
class _PooledPlayer:
    """A player, and whether it has loaded the bots."""

    remote: RemotePlayer
    loaded: bool = False


class GamesPlugin(WorkerPlugin):  # type: ignore[misc]  # Dask has no types
    """Keeps the players of one tournament on one Dask worker. `environment` has environment variables for the players."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._luggage = b""
        self._lock = threading.Lock()
        self._idle: list[_PooledPlayer] = []
        self._busy: dict[str, _PooledPlayer] = {}
        self._released: set[str] = set()
        self._closed = False

    def transition(self, key: Any, start: str, finish: str, **more: Any) -> None:
        """Kill the player of a running call that Dask releases. See `WorkerPlugin`."""
        if start == "executing" and finish in ("released", "cancelled") and str(key).startswith(PREFIX):
            with self._lock:
                if (player := self._busy.get(str(key))) is not None:
                    player.remote.kill()
                else:
                    self._released.add(str(key))

    def teardown(self, worker: Worker) -> None:
        """End all players. See `WorkerPlugin`."""
        with self._lock:
            self._closed = True
            idle = self._idle
            self._idle = []
            for player in (*idle, *self._busy.values()):
                player.remote.kill()  # the thread of a busy player closes it
        for player in idle:
            player.remote.close()

    def describe(self, key: str, name: str) -> bytes:
        """Return a player's answer to the request "describe": a description of this machine, with the proof of its build.

        `key` is the key of the call. `name` is the name of this machine (empty: the name of the host).
        """
        with self._player(key) as player:
            return player.remote.ask("describe", name, timeout=PROVE_TIMEOUT)

    def load(self, key: str, request: bytes) -> bytes:
        """Return the answer of a player to `request`, which loads the bots. Later players get this request, too."""
        self._luggage = request
        with self._player(key) as player:
            player.loaded = True
            return player.remote.ask_bytes(request, LOAD_TIMEOUT)

    def play(self, key: str, game: bytes, wall_s: float) -> bytes:
        """Play a game in a player, and return its answer. Raises `RemoteError` and `NotLoadedError`."""
        with self._player(key) as player:
            if not player.loaded:
                if not self._luggage:
                    raise NotLoadedError
                answer_of(player.remote.ask_bytes(self._luggage, LOAD_TIMEOUT))
                player.loaded = True
            return player.remote.ask_bytes(game, wall_s + WALL_MARGIN)

    @contextlib.contextmanager
    def _player(self, key: str) -> Iterator[_PooledPlayer]:
        """Yield an idle player, or a new player, for the call with this key.

        If the ``with`` block raises an error, end the player.
        """
        with self._lock:
            player = self._idle.pop() if self._idle else None
        if player is not None and not player.remote.running:
            player.remote.close()
            player = None
        player = player or _PooledPlayer(RemotePlayer(self._environment))
        try:
            with self._lock:
                self._check_open(key)
                self._busy[key] = player
            yield player
            with self._lock:
                self._check_open(key)
                del self._busy[key]
                self._idle.append(player)
        except BaseException:
            with self._lock:
                self._busy.pop(key, None)
            player.remote.close()
            raise

    def _check_open(self, key: str) -> None:
        if self._closed or key in self._released:
            self._released.discard(key)
            raise RemoteError("the game was cancelled")


# ---- Called by Dask ----


def describe(tournament: str, environment: Mapping[str, str]) -> bytes:
    """Add a plugin that plays the games of a tournament. Return the answer of its first player to the request "describe"."""
    worker = get_worker()
    plugin = GamesPlugin(environment)
    _call(worker.plugin_add(plugin=plugin, name=PREFIX + tournament))
    return plugin.describe(_key(), getattr(worker, NAME_ATTRIBUTE, ""))


def load(tournament: str, request: bytes) -> bytes:
    """Load the bots of a tournament, and return the answer of the player to `request`."""
    return _plugin(tournament).load(_key(), request)


def play(tournament: str, game: bytes, wall_s: float) -> bytes:
    """Play a game, and return the answer of the player. Raises `NotLoadedError` or `RemoteError`."""
    return _plugin(tournament).play(_key(), game, wall_s)


def release(tournament: str) -> None:
    """Remove the plugin of a tournament, and end its players."""
    worker = get_worker()
    if PREFIX + tournament in worker.plugins:
        _call(worker.plugin_remove(name=PREFIX + tournament))


def _plugin(tournament: str) -> GamesPlugin:
    plugin = get_worker().plugins.get(PREFIX + tournament)
    if not isinstance(plugin, GamesPlugin):
        raise NotLoadedError
    return plugin


def _key() -> str:
    """Return Dask's key of the call that this thread runs."""
    return str(get_worker().get_current_task())


def _call(work: Coroutine[Any, Any, Any]) -> None:
    """Run a coroutine in the loop of the Dask worker, and wait for its end."""
    asyncio.run_coroutine_threadsafe(work, get_worker().loop.asyncio_loop).result(ADD_TIMEOUT)


def request_of(*parts: Any) -> bytes:
    """Return a request to a player as bytes."""
    return pickle.dumps(parts)
