"""Games as one player of ours has seen them, with the votes, in the form of a bundle (docs/viewer-format.md)."""

from __future__ import annotations

from sim.game import RUNNING, Games
from vindibot.games import (
    Ballot,
    GameState,
    Header,
    LastState,
    Outcome,
    Player,
    Ply,
    Reason,
    Recording,
    RecordingError,
    following,
)
from vindibot.viewer.bundle import Bundle, Patch, head
from vindibot.viewer.states import Scribe, ending_of, results
from vindibot.viewer.why import Reasons


class Chronicle:
    """A bundle that grows with what one player of ours sees: states at his turns, with the votes, and how it ended.

    The plies between are recomputed. Each method returns a patch (docs/viewer-format.md) with what is new.
    """

    def __init__(self, header: Header) -> None:
        self._reasons = Reasons(header)
        self._scribe: Scribe | None = None
        self._last: Games | None = None
        self.bundle: Bundle | None = None

    def turn(self, state: GameState, games: Games, ballot: Ballot) -> Patch:
        """A turn of ours."""
        patch = self._see(state, games)
        assert self.bundle is not None
        why = [self._reasons.turn(len(self.bundle["plies"]), games, ballot)]
        self.bundle["why"]["turns"] += why
        return patch | {"why": why}

    def finish(self, outcome: Outcome, last: LastState | None) -> Patch:
        """How it ended for us, with the last state if it reached us."""
        patch = self._see(last.state, last.games) if last is not None else {}
        if self._last is None or self.bundle is None:
            return patch
        ended = self._last["status"].item(0) != RUNNING
        ending = ending_of(self._last) if ended else {"kind": outcome.reason, "message": outcome.message}
        self.bundle |= (end := {"ending": ending, "results": results(self._last)})
        self.bundle["live"] = False
        return patch | end

    def _see(self, state: GameState, games: Games) -> Patch:
        plies = following(self._last, games)
        if self.bundle is None:
            first = plies.pop(0)
            self._begin(state, first)
            self._last = first.games
        assert self.bundle is not None
        assert self._scribe is not None
        assert self._last is not None
        start, before = len(self.bundle["plies"]), self._last
        for ply in plies:
            self.bundle["plies"].append(self._scribe.ply(before, ply))
            before = ply.games
        self._last = games
        return {"from": start, "plies": self.bundle["plies"][start:]}

    def _begin(self, state: GameState, first: Ply) -> None:
        header = self._reasons.header
        self._scribe = Scribe(first.games)
        self.bundle = head(
            first.games,
            game_id=header.game,
            title=f"{header.bot} in game {header.game}",
            source="recording",
            players=[Player(hero.name, hero.user_id, hero.elo) for hero in state.heroes],
            live=True,
            gap=first.gap,
            me=self._reasons.me,
            limit_ms=header.limit_ms,
            started=header.started,
        )
        self.bundle["why"] = self._reasons.head()


def of_recording(recording: Recording) -> Bundle:
    """The whole bundle of a recording. Raises `RecordingError` if there is not a single state in it."""
    chronicle = Chronicle(recording.header)
    for own in recording.turns:
        chronicle.turn(own.state, own.games, own.ballot)
    if recording.outcome is not None:
        chronicle.finish(recording.outcome, recording.last)
    if chronicle.bundle is None:
        raise RecordingError(f"{recording.path}: there is nothing to show, the game ended before our first turn", 2)
    if recording.outcome is None:
        chronicle.finish(Outcome(Reason.INTERRUPTED, "the recording ends here"), None)
    return chronicle.bundle
