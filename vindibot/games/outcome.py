"""The end of a game, or of a player's part in it: its reason, and the ranks of the heroes.

Recordings, results, game records, reports and messages use the same reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sim.game import ALL_CRASHED, RUNNING, TURN_MAX


class Reason(StrEnum):
    """The reason why a game, or a player's part in it, ended. Files contain the values as words. Tables list the reasons in this
    order."""

    #: The game was played to its last turn, and the player answered on each of its own turns.
    FINISHED = "finished"
    #: All four heroes have crashed.
    ALL_CRASHED = "all-crashed"
    #: A tournament ended the game because no hero's rank could change any more.
    ADJUDICATED = "adjudicated"
    #: A move of the player was late, or the player used up its time for the whole game.
    TIMEOUT = "timeout"
    #: The player's answer was no move.
    ILLEGAL = "illegal"
    #: The player wrote more output than is allowed.
    FLOOD = "flood"
    #: The player exceeded its memory limit.
    MEMORY = "memory"
    #: The player raised an error, or its process ended.
    CRASH = "crash"
    #: The player was not ready within its start-up time, so it never moved.
    STALL = "stall"
    #: The server's answer does not follow the protocol.
    PROTOCOL_ERROR = "protocol-error"
    #: The server refused a request, and a repeat would not help.
    REFUSED = "refused"
    #: The server no longer knows the game.
    UNKNOWN_GAME = "unknown-game"
    #: The server could not be reached.
    UNREACHABLE = "unreachable"
    #: All games of the player's league are over.
    LEAGUE_OVER = "league-over"
    #: No game began within the time limit for joining.
    NO_GAME = "no-game"
    #: The game was stopped, or the rest of it is unknown.
    INTERRUPTED = "interrupted"
    #: The game could not be played to its end.
    ABORTED = "aborted"


@dataclass(frozen=True)
class Outcome:
    """The end of a game, or of a player's part in it: the reason, and a sentence for people."""

    reason: Reason = Reason.FINISHED
    message: str = ""

    @property
    def finished(self) -> bool:
        """Whether the game was played to its end."""
        return self.reason is Reason.FINISHED

    @property
    def exit_code(self) -> int:
        """The exit code of a command that played only this game: 0 if it is finished or the league is over, 130 if interrupted,
        else 1."""
        return {Reason.FINISHED: 0, Reason.LEAGUE_OVER: 0, Reason.INTERRUPTED: 130}.get(self.reason, 1)


_ORDINALS = ("first", "second", "third", "fourth")
_OF_STATUS = {TURN_MAX: Reason.FINISHED, ALL_CRASHED: Reason.ALL_CRASHED, RUNNING: Reason.INTERRUPTED}
_STATUS = {Reason.FINISHED: TURN_MAX, Reason.ALL_CRASHED: ALL_CRASHED}


def reason_of(status: int) -> Reason:
    """Return the reason why a game ended, by the `status` (of `sim.game`) of its last state. A running game is "interrupted"."""
    return _OF_STATUS[status]


def status_of(reason: Reason) -> int:
    """Return the `status` (of `sim.game`) of the last state of a game that ended for this reason."""
    return _STATUS.get(reason, RUNNING)


def ranks(gold: Sequence[int]) -> list[int]:
    """Return the rank of each hero by its gold, 1 for the most gold. Heroes with equal gold share a rank.

    ``[5, 9, 5, 0]`` gives 2, 1, 2, 4.
    """
    return [1 + sum(other > own for other in gold) for own in gold]


def result_text(name: str, gold: int, rivals: Sequence[tuple[str, int]]) -> str:
    """Return the result of the hero `name` in words, such as ``seed came first with 12 gold (stay 3, stay 2, stay 0)``.

    `rivals` are the names and gold of the other heroes.
    """
    places = ranks([gold, *(other for _, other in rivals)])
    place = _ORDINALS[places[0] - 1]
    came = f"tied for {place}" if places.count(places[0]) > 1 else f"came {place}"
    others = ", ".join(f"{rival} {other}" for rival, other in sorted(rivals, key=lambda rival: -rival[1]))
    return f"{name} {came} with {gold} gold ({others})"
