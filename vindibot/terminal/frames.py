"""A film: the states of a game that is watched, one for each ply, whether it is over or still grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sim.game import CRASH, DIRECTIONS, RUNNING, Games, row_column
from vindibot.base import printable
from vindibot.games import Ballot, GameRecord, GameState, Recording, following, reason_of, replay, to_games


@dataclass(frozen=True)
class Frame:
    """One state: `games` (an array of one record) after `hero` (0..3) was given `order` (0..4, 5 for a crash).

    Both are None for the first state and where `gap` says that what came before is not known. `ballot` is what we voted in
    this state, if it is a turn of ours.
    """

    games: Games = field(repr=False)
    hero: int | None = None
    order: int | None = None
    gap: bool = False
    ballot: Ballot | None = None

    @property
    def turn(self) -> int:
        """The wire's turn: plies played so far."""
        return int(self.games[0]["turn"])


@dataclass
class Film:
    """The frames of one game. `me` is our hero 0..3, None if none is ours; `whole` says that no more will come, and `ending`
    how it ended, as far as is known."""

    title: str
    names: Sequence[str] = ("", "", "", "")
    me: int | None = None
    frames: list[Frame] = field(default_factory=list)
    whole: bool = False
    ending: str = ""

    def add(self, state: GameState) -> None:
        """A state of a live game; the plies between it and the last one are recomputed. What is known already is left out."""
        games = to_games(state)
        self.names = tuple(hero.name for hero in state.heroes)
        last = self.frames[-1].games if self.frames else None
        if last is not None and not _is_news(last, games):
            return
        for ply in following(last, games):
            self.frames.append(Frame(ply.games, ply.hero, ply.order, ply.gap))

    def end(self) -> None:
        """No more will come."""
        self.whole = True
        if self.frames and not self.ending:
            status = int(self.frames[-1].games[0]["status"])
            self.ending = reason_of(status) if status != RUNNING else "it broke off"

    def at_turn(self, turn: int) -> int:
        """The number of the first frame that is not before the wire's `turn`; the last one if all are."""
        return next((number for number, frame in enumerate(self.frames) if frame.turn >= turn), len(self.frames) - 1)

    def standing(self) -> str:
        """Who has how much gold, best first."""
        if not self.frames:
            return "nothing was seen of it"
        gold = self.frames[-1].games[0]["hero"]["gold"].tolist()
        order = sorted(range(4), key=lambda hero: -gold[hero])
        return ", ".join(f"@{hero + 1} {printable(self.names[hero])} {gold[hero]}" for hero in order)


def _is_news(last: Games, games: Games) -> bool:
    """Whether a state goes on from the last one; a crash may end a game without a new turn."""
    before, now = last[0], games[0]
    ended = now["status"] != RUNNING and before["status"] == RUNNING
    return bool(now["turn"] > before["turn"] or (now["turn"] == before["turn"] and ended))


def film_of(game: Recording | GameRecord) -> Film:
    """The film of a game in a file. Raises `GameRecordError` for a record that does not work out."""
    film = _of_recording(game) if isinstance(game, Recording) else _of_record(game)
    film.end()
    return film


def _of_recording(recording: Recording) -> Film:
    ballots = {own.turn: own.ballot for own in recording.turns}
    film = Film(f"game {recording.header.game}", recording.names, recording.me)
    if recording.outcome is not None:
        film.ending = recording.outcome.reason
    for ply in recording.plies():
        game = ply.games[0]
        seen = game["status"] == RUNNING and (ply.seen or not film.frames)
        film.frames.append(Frame(ply.games, ply.hero, ply.order, ply.gap, ballots.get(int(game["turn"])) if seen else None))
    return film


def _of_record(record: GameRecord) -> Film:
    film = Film(f"game {record.id}", record.names, ending=record.ending)
    before: Games | None = None
    for number, games in enumerate(replay(record)):
        if before is None:
            film.frames.append(Frame(games))
        else:
            order = record.orders[number - 1]
            film.frames.append(Frame(games, int(before[0]["turn"]) % 4, order))
        before = games
    return film


def order_word(order: int | None) -> str:
    """An order as a word; a crash is one too."""
    return "" if order is None else "crashed" if order == CRASH else DIRECTIONS[order]


def frame_line(film: Film, frame: Frame) -> str:
    """A frame in one line, for where there is no terminal to draw in."""
    if frame.hero is None or frame.order is None:
        return f"turn {frame.turn}: {'what came before is not known' if frame.gap else 'the first state'}"
    hero = frame.games[0]["hero"][frame.hero]
    row, column = row_column(int(hero["pos"]))
    name = printable(film.names[frame.hero])
    facts = f"at ({row}, {column}), life {hero['life']}, gold {hero['gold']}, mines {hero['mines']}"
    return f"turn {frame.turn}: @{frame.hero + 1} {name} {order_word(frame.order)}, {facts}"


def lines_of(film: Film, start: int = 0) -> Iterator[str]:
    """A line for each frame there is, from number `start` on."""
    for frame in film.frames[start:]:
        yield frame_line(film, frame)
