"""The games of a tournament that wait for a machine of the cluster."""

from __future__ import annotations

from collections import deque
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, field

from vindibot.arena.results import PlayedGame
from vindibot.arena.schedule import GameTask
from vindibot.base.errors import VindibotError

#: If a game was lost with its machine this number of times, the next machine plays it without other games at the same time. If
#: the game is lost there, too, it has failed.
LOSSES = 3


@dataclass
class ClusterGame:
    """A game that waits or runs: the task, and the request to play it. `losses` is the number of times that it was lost with its
    machine."""

    task: GameTask
    request: bytes
    future: Future[PlayedGame] = field(default_factory=Future)
    losses: int = 0

    @property
    def suspect(self) -> bool:
        """Whether the game may be the reason why machines were lost."""
        return self.losses >= LOSSES

    def finish(self, result: PlayedGame | Exception) -> None:
        """Set the result of the game, unless it has one."""
        if self.future.done():
            return
        if isinstance(result, Exception):
            self.future.set_exception(result)
        else:
            self.future.set_result(result)


class WaitingGames:
    """The games that wait, in order."""

    def __init__(self) -> None:
        self._waiting: deque[ClusterGame] = deque()

    def add(self, game: ClusterGame) -> None:
        """Let a new game wait."""
        self._waiting.append(game)

    def first(self) -> ClusterGame | None:
        """Return the game to be played next, without games that were cancelled. None if no game waits."""
        while self._waiting:
            game = self._waiting[0]
            if game.future.running() or game.future.set_running_or_notify_cancel():
                return game
            self._waiting.popleft()
        return None

    def remove_first(self) -> None:
        """Remove the game that `first` has returned."""
        self._waiting.popleft()

    def put_back(self, game: ClusterGame, *, lost: bool) -> None:
        """Let a game wait again, before all other games. A game that was lost too often has failed.

        `lost` says whether the game's machine was lost. If it was, the game may be the reason, so the loss is counted.
        """
        if lost and game.suspect:
            game.finish(VindibotError(f"its machine was lost {game.losses + 1} times while it was played"))
            return
        game.losses += lost
        self._waiting.appendleft(game)

    def end(self, reason: str) -> None:
        """End all waiting games with an error."""
        for game in self._waiting:
            game.finish(BrokenExecutor(reason))
        self._waiting.clear()
