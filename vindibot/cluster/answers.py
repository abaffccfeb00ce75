"""The answers of the machines of a cluster, as JSON. The driver reads nothing else from a machine."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from vindibot.arena.results import GameLine, MachineLine, PlayedGame
from vindibot.base.errors import VindibotError
from vindibot.cluster.proof import BuildProof
from vindibot.processes.ending import ChildEnding


class MachineError(VindibotError):
    """A machine has not done what the driver has requested. `answer` has the reason."""

    def __init__(self, answer: FailureAnswer) -> None:
        super().__init__(answer.reason)
        self.answer = answer


class _MachineAnswer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")

    def encode(self) -> bytes:
        """Return the answer as JSON."""
        return self.model_dump_json().encode()


class FailureAnswer(_MachineAnswer):
    """The request has failed for this reason.

    `ending` is the end of the player, None if it has not ended. `not_loaded` says whether the machine has not loaded the bots,
    for example because its Dask worker was started again.
    """

    reason: str
    ending: ChildEnding | None = None
    not_loaded: bool = False


class ProofAnswer(_MachineAnswer):
    """A description of the machine, and the proof of its build."""

    machine: MachineLine
    proof: BuildProof


class LoadedAnswer(_MachineAnswer):
    """The bots are loaded. `problems` has the reasons why some of them cannot play on the machine."""

    problems: tuple[str, ...]


class GameAnswer(_MachineAnswer):
    """A game was played: its line of results, its record, and the output of its bots by the names of the files."""

    line: GameLine
    record: str
    logs: dict[str, bytes]

    @classmethod
    def of(cls, played: PlayedGame, logs: dict[str, bytes]) -> GameAnswer:
        """Return the answer for a game, with the output of its bots."""
        return cls(line=played.line, record=played.record.decode(), logs=logs)

    def played(self, machine: MachineLine | None) -> PlayedGame:
        """Return the game as `machine` has played it."""
        return PlayedGame(replace(self.line, machine=machine), self.record.encode())


Wanted = TypeVar("Wanted", ProofAnswer, LoadedAnswer, GameAnswer)


def answer_of(data: Any, kind: type[Wanted]) -> Wanted:
    """Return the answer of this kind in the JSON text `data`. Raises `MachineError` for a failure, and for invalid data."""
    try:
        return kind.model_validate_json(data)
    except ValidationError as problem:
        failure = FailureAnswer(reason=f"its answer is not valid: {str(problem).splitlines()[0]}")
    with contextlib.suppress(ValidationError):
        failure = FailureAnswer.model_validate_json(data)
    raise MachineError(failure)
