"""The votes of an expert, a strong bot, on the turns of recorded games, as targets for a net.

The expert votes on what it would do, but the recorded moves go on. If a net played the games, it learns what to do in the
positions that its own moves lead to (DAgger: Ross, Gordon and Bagnell 2011). The votes become probabilities: the softmax of
votes / temperature. If a net is to become better, the wanted probabilities are proportional to its own, times e^(vote /
temperature). So the net keeps its moves where the expert finds others hardly better (MPO: Abdolmaleki et al. 2018).

The votes on a game are appended to a file when they are ready. So an interrupted run can go on, and several fits can use the
votes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behaviours.net.network import Net
from vindibot import __version__
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.output.text import decode_json
from vindibot.base.writing import LineFile, short
from vindibot.config.bots import Bot
from vindibot.config.settings import cores
from vindibot.config.signature import digest_of
from vindibot.engine.agent import Agent, in_process_voters
from vindibot.engine.inline import Inline
from vindibot.games.history import GameHistory
from vindibot.learning.cross_entropy import find_scores
from vindibot.learning.decisions import MoveDecisions, Turns
from vindibot.learning.imitation import Fit, fit_net
from vindibot.learning.network import network_size, parameters_of

#: The command that makes nets from votes. Their files name it.
EXPERT_COMMAND = "vindibot learn expert"
_FORMAT, _VERSION, _INSTEAD = "vindibot votes", 1, "--out names another file"
#: Seconds between two lines about the progress.
_NOTE_SECONDS = 10.0
#: Smallest probability of a move by a net that is to become better.
_LEAST = 1e-12

_Votes = list[list[float | None]]


@dataclass(frozen=True)
class Expert:
    """A bot that votes on turns, with a search budget of `nodes` nodes per move.

    `file` is the file of its votes, and `temperature` (> 0) the difference of two votes at which the better move is e times as
    probable. `note` is told about the progress.
    """

    bot: Bot
    nodes: int
    temperature: float
    file: Path
    note: Callable[[str], None] = lambda text: None

    def targets(self, turns: Sequence[Turns]) -> list[NDArray[np.float32]]:
        """Return the probabilities that the votes give the moves of each game: float32[n, 5], with a row for each turn.

        All cores work, each on one game. Raises `UsageError` if the file has other votes, and `VindibotError` if it cannot be
        read or written, or if no trait of the bot votes.
        """
        lines = LineFile.locked(self.file, EXPERT_COMMAND, VindibotError)
        try:
            votes = self._read(lines, turns)
            self._ask(turns, votes, lines)
        finally:
            lines.discard()
        return [probabilities(votes[number], self.temperature) for number in range(len(turns))]

    def _head(self, turns: Sequence[Turns]) -> dict[str, Any]:
        games = digest_of([one.key() for one in turns])
        return {_FORMAT: _VERSION, "vindibot": __version__, "expert": self.bot.digest, "nodes": self.nodes, "games": games}

    def _read(self, lines: LineFile, turns: Sequence[Turns]) -> dict[int, _Votes]:
        """Return the votes that the file has, by the number of the game. Begin the file if it is empty."""
        head = self._head(turns)
        try:
            content = lines.read()
            if not content:
                lines.append(json.dumps(head).encode())
                return {}
        except OSError as problem:
            raise VindibotError(f"{short(self.file)}: cannot be used: {problem.strerror or problem}") from None
        try:
            first, *rest = [decode_json(line) for line in content[: content.rfind(b"\n") + 1].splitlines()]
            other, found = first[_FORMAT] == _VERSION and first != head, {line["game"]: line["votes"] for line in rest}
        except (ValueError, TypeError, LookupError):
            raise UsageError(f"{short(self.file)} is there already and has no votes: move it away, or {_INSTEAD}") from None
        if other or any(len(votes) != len(turns[number].plies) for number, votes in found.items()):
            raise UsageError(f"{short(self.file)} has votes on other games, or of another expert: delete it, or {_INSTEAD}")
        return found

    def _ask(self, turns: Sequence[Turns], votes: dict[int, _Votes], lines: LineFile) -> None:
        """Add the votes on all other games to `votes` and to the file."""
        missing = [number for number in range(len(turns)) if number not in votes]
        total, done, began, noted = sum(len(turns[number].plies) for number in missing), 0, time.monotonic(), 0.0
        idle: list[Inline] = []

        def ask(number: int) -> tuple[int, _Votes]:
            voters = idle.pop() if idle else in_process_voters(self.bot)
            found = self._votes_on(turns[number], voters)
            idle.append(voters)
            return number, found

        with ThreadPoolExecutor(cores()) as pool:
            waiting = [pool.submit(ask, number) for number in missing]
            try:
                for future in as_completed(waiting):
                    number, found = future.result()
                    votes[number] = found
                    line = json.dumps({"game": number, "votes": found}, separators=(",", ":"))
                    try:
                        lines.append(line.encode())
                    except OSError as problem:
                        raise VindibotError(f"{short(self.file)}: cannot be written: {problem.strerror or problem}") from None
                    done += len(found)
                    now = time.monotonic() - began
                    if now > noted + _NOTE_SECONDS:
                        noted, speed = now, done / now
                        left = (total - done) / max(speed, 1e-9)
                        self.note(f"votes on {done} of {total} turns, {speed:.0f} a second, {left:.0f} s left")
            finally:
                pool.shutdown(cancel_futures=True)
                for voters in idle:
                    voters.let_go()

    def _votes_on(self, turns: Turns, voters: Inline) -> _Votes:
        """Return the votes on the turns of a game: for each turn five numbers, None for a move without an effect."""
        voters.begin_game()
        agents, wanted = {seat: Agent(voters, seat, 0, nodes=self.nodes) for seat in turns.seats}, set(turns.plies)
        found: _Votes = []
        for ply in GameHistory.of(turns.record):
            if ply.mover not in agents:
                continue
            if ply.number not in wanted:
                agents[ply.mover].see(ply.before)
                continue
            ballot = agents[ply.mover].decide_now(ply.before)
            if ballot.fallback:
                raise VindibotError(f"{self.bot.name}: none of its traits voted on ply {ply.number} of game {turns.record.id}")
            found.append([round(vote, 5) if move in ballot.candidates else None for move, vote in enumerate(ballot.sums)])
        return found


def fit_expert(expert: Expert, decisions: MoveDecisions, hidden: int, near: float, start: Net | None) -> Fit:
    """Fit a net to the votes of an expert, as the targets of `decisions`. The fit begins with the net `start`, if any.

    For the other parameters see `vindibot.learning.imitation.fit_net`.
    """
    if start is not None:
        decisions = improved(decisions, start)
    about = {"command": EXPERT_COMMAND, "expert": expert.bot.name, "nodes": expert.nodes, "temperature": expert.temperature}
    return fit_net(expert.bot.name, decisions, hidden, near, expert.note, start=start, about=about)


def probabilities(votes: _Votes, temperature: float) -> NDArray[np.float32]:
    """Return the softmax of votes / `temperature`: float32[n, 5], 0 for a move without a vote."""
    sums = np.array([[-np.inf if vote is None else vote for vote in row] for row in votes]).reshape(-1, 5) / temperature
    return _softmax(sums)


def improved(decisions: MoveDecisions, net: Net) -> MoveDecisions:
    """Return decisions whose wanted probabilities are those of `decisions` times those that the net gives, each sum 1 again."""
    columns, hidden = decisions.columns, net.policy.hidden
    parameters = parameters_of(net, hidden, 1)[: network_size(hidden)]
    scores = np.zeros((len(decisions), 5), np.float32)
    find_scores(columns.state, columns.moves, parameters, hidden, scores)
    with np.errstate(divide="ignore"):
        wanted = _softmax(np.log(columns.wanted) + np.log(_softmax(scores.astype(np.float64)) + _LEAST))
    return replace(decisions, columns=columns._replace(wanted=wanted))


def _softmax(sums: NDArray[np.float64]) -> NDArray[np.float32]:
    odds = np.exp(sums - sums.max(axis=1, keepdims=True, initial=-np.inf))
    found: NDArray[np.float32] = (odds / odds.sum(axis=1, keepdims=True)).astype(np.float32)
    return found
