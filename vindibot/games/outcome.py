"""How a game ended, or a player's part in it: one set of reasons for recordings, results, records, reports and messages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sim.game import ALL_CRASHED, RUNNING, TURN_MAX


class Reason(StrEnum):
    """Why a game, or a player's part in it, was over. Files have these words; tables list them in this order."""

    #: The game was played to its last turn; a player answered every turn of its own.
    FINISHED = "finished"
    #: All four heroes had crashed.
    ALL_CRASHED = "all-crashed"
    #: A tournament ended the game: no place could change any more.
    ADJUDICATED = "adjudicated"
    #: A player's move came too late, or used up the time of the whole game.
    TIMEOUT = "timeout"
    #: A player answered what is no move.
    ILLEGAL = "illegal"
    #: A player wrote more than anybody reads.
    FLOOD = "flood"
    #: A player took more memory than it may.
    MEMORY = "memory"
    #: A player raised an error, or its process ended.
    CRASH = "crash"
    #: A player did not come up in its start-up time, so it never moved.
    STALL = "stall"
    #: The server's answer cannot be used.
    PROTOCOL_ERROR = "protocol-error"
    #: The server refused a request for good.
    REFUSED = "refused"
    #: The server no longer knows the game.
    UNKNOWN_GAME = "unknown-game"
    #: The server was not reached.
    UNREACHABLE = "unreachable"
    #: No game began while we waited.
    NO_GAME = "no-game"
    #: The game was stopped, or what is known of it breaks off.
    INTERRUPTED = "interrupted"
    #: The game could not be played to its end anywhere.
    ABORTED = "aborted"


@dataclass(frozen=True)
class Outcome:
    """The end of a game, or of a player's part in it: the reason, and what else is known, in words for people."""

    reason: Reason = Reason.FINISHED
    message: str = ""

    @property
    def finished(self) -> bool:
        """Whether everything was played as it should be."""
        return self.reason is Reason.FINISHED

    @property
    def exit_code(self) -> int:
        """The exit code of a command that played this game and nothing else: 0 finished, 130 interrupted, 1 for any failure."""
        return {Reason.FINISHED: 0, Reason.INTERRUPTED: 130}.get(self.reason, 1)


_OF_STATUS = {TURN_MAX: Reason.FINISHED, ALL_CRASHED: Reason.ALL_CRASHED, RUNNING: Reason.INTERRUPTED}
_STATUS = {Reason.FINISHED: TURN_MAX, Reason.ALL_CRASHED: ALL_CRASHED}


def reason_of(status: int) -> Reason:
    """The reason why a game ended whose last known state has this `status` (of `sim.game`); a running one was interrupted."""
    return _OF_STATUS[status]


def status_of(reason: Reason) -> int:
    """The `status` (of `sim.game`) of the last state of a game that ended for this reason."""
    return _STATUS.get(reason, RUNNING)
