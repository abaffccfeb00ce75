"""Promotion: a tuned bot becomes the next version of its family if it is stronger than its parent and not weaker than a rival.

1. The candidate (the tuned bot) plays a match against its parent. The sequential test must decide for the candidate. Its error
   rate depends on the number of attempts of the family (`vindibot.tuning.attempts`).
2. The candidate plays a match against each rival. If the interval of its mean difference to a rival lies below 0, the candidate
   is refused. All intervals together hold all true differences with a probability of 95 % (Bonferroni's correction).
3. The candidate plays a tournament with the versions of the family. The tournament gives its rating.

By default, tuning has used neither the maps nor the rivals. The games of each attempt are new: its seed differs, and by default
its maps are new too. Each match is a tournament of `vindibot.arena` with a results file of
its own. So an interrupted promotion can be resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from vindibot.arena.report.summary import summarise
from vindibot.arena.report.table import evidence
from vindibot.arena.seats.entrants import unique_label
from vindibot.arena.settings import ArenaSettings
from vindibot.arena.tournament import Tournament, prepare
from vindibot.base.errors import VindibotError
from vindibot.base.output.text import counted
from vindibot.base.writing import Output, short
from vindibot.config.bots import Bot, load_bot
from vindibot.config.load import load_config
from vindibot.config.maps import standard_maps
from vindibot.config.signature import digest_of
from vindibot.processes.support import require_children
from vindibot.tuning.attempts import AttemptFile, AttemptOutcome, PromotionAttempt
from vindibot.tuning.bot_files import Family, family_name
from vindibot.tuning.settings import PromoteSettings

if TYPE_CHECKING:
    from vindibot.arena.report.summary import Summary
    from vindibot.statistics.ratings import Rating

#: The labels of the two bots in the match.
CANDIDATE, PARENT = "candidate", "parent"
#: The start of the configuration of the family's tournament, and the name of its file.
TOURNAMENT_MARK, TOURNAMENT = "# Made by vindibot tune promote", "tournament.toml"
#: Largest number of versions in the tournament that rates the candidate. The newest versions play.
PLAYING = 4
#: The default folder of versions.
FOLDER = Path("versions")
#: The probability with which the intervals of the differences to all rivals together hold the true differences.
RIVALS_LEVEL = 0.95
#: The sizes of the maps that are generated for an attempt.
SIZES = list(range(10, 30, 2))


@dataclass(frozen=True)
class MatchOutcome:
    """The outcome of a match: whether the candidate passed, a sentence about the match, and the number of games."""

    passed: bool
    text: str
    games: int


@dataclass
class Promotion:
    """The promotion of `candidate`, which was made from `parent`. Call `begin` first.

    `play` plays a tournament, and returns whether all its games were played. The results are in a folder for the attempt in
    `folder`.
    """

    candidate: Bot
    parent: Bot
    settings: PromoteSettings
    folder: Path
    play: Callable[[Tournament], bool]
    outcomes: list[MatchOutcome] = field(default_factory=list)
    attempt: PromotionAttempt = field(default_factory=lambda: PromotionAttempt(1))

    def begin(self) -> str:
        """Begin a new attempt of the family, or continue an interrupted one. Return a sentence about the attempt.

        Raises `UsageError` for an unknown rival.
        """
        require_children()
        identity = digest_of(
            {
                "candidate": self.candidate.digest,
                "parent": self.parent.digest,
                "rivals": [rival.digest for rival in self.rivals],
                "settings": self.settings.model_dump(mode="json", exclude={"versions", "workers", "cluster", "log"}),
                "folder": str(self.folder.resolve()),
            }
        )
        self.attempt = self._attempts.begin(identity, self.candidate.name, self.parent.name)
        number, alpha = self.attempt.number, self.settings.sprt.alpha
        return (
            f"attempt {number} of the family {self.family.name}: alpha {self.alpha:.2g} = {alpha:g} / ({number} * {number + 1})"
        )

    def end(self, outcome: AttemptOutcome) -> None:
        """Store the outcome of the attempt."""
        self._attempts.end(self.attempt, outcome)

    @property
    def _attempts(self) -> AttemptFile:
        return AttemptFile(self.family.folder / f"{self.family.name}.attempts.jsonl")

    @property
    def alpha(self) -> float:
        """The probability that the test against the parent decides for a candidate that is not stronger."""
        return self.attempt.alpha(self.settings.sprt.alpha)

    @cached_property
    def rivals(self) -> list[Bot]:
        """The rivals of the settings, each only once. Raises `UsageError` for an unknown rival."""
        return list({bot.path: bot for bot in map(load_bot, self.settings.rivals)}.values())

    @property
    def rival_level(self) -> float:
        """The level of the interval of the difference to one rival."""
        return 1 - (1 - RIVALS_LEVEL) / max(1, len(self.rivals))

    @property
    def family(self) -> Family:
        """The family of the parent."""
        return Family(self.settings.family or family_name(self.parent), self.settings.versions or FOLDER)

    @property
    def games(self) -> int:
        """The number of games against the parent and the rivals so far."""
        return sum(outcome.games for outcome in self.outcomes)

    def against_parent(self) -> MatchOutcome | None:
        """Play the match against the parent. Return its outcome, or None if it was interrupted."""
        settings = self.settings
        test = {f"sprt.{name}": value for name, value in settings.sprt.model_dump().items()}
        test |= {"sprt.stop": True, "sprt.alpha": self.alpha}
        bots = [_named(CANDIDATE, self.candidate), _named(PARENT, self.parent)]
        summary = self._tournament("parent", bots, settings.blocks, test)
        if summary is None:
            return None
        assert summary.match is not None
        state = summary.match.state
        words = {"H1": "is stronger than", "H0": "is not stronger by enough than"}.get(state.verdict, "has no verdict against")
        text = f"{self.candidate.name} {words} its parent {self.parent.name}: {evidence(state)}"
        return self._add(MatchOutcome(state.verdict == "H1", text, summary.games))

    def against(self, rival: Bot) -> MatchOutcome | None:
        """Play the match against one of the `rivals`. Return its outcome, or None if it was interrupted.

        Raises `VindibotError` if too few games could be played.
        """
        names: dict[str, str] = {}
        for one in self.rivals:
            names[one.path] = unique_label(Path(one.path).stem, names.values())
        bots = [_named(CANDIDATE, self.candidate), _named("rival", rival)]
        summary = self._tournament(f"rival-{names[rival.path]}", bots, self.settings.rival_blocks)
        if summary is None:
            return None
        assert summary.match is not None
        found = summary.match.difference
        if found is None:
            raise VindibotError(f"against {rival.name}: {counted(summary.given_up, 'game')} could not be played, too many")
        same = sum(one.name == rival.name for one in self.rivals) > 1
        name = f"{rival.name} ({short(rival.path)})" if same else rival.name
        text = f"against {name}: {found.elo:+.0f} points, {100 * found.level:.3g} % {found.low:+.0f} .. {found.high:+.0f}"
        return self._add(MatchOutcome(found.high >= 0, text, summary.games))

    def rating(self) -> tuple[Rating, int] | None:
        """Play the tournament of the family. Return the candidate's rating, with its parent at 0, and the number of games.

        Return None if the tournament was interrupted.
        """
        older = {bot.digest: bot for bot in self.family.bots()[-PLAYING:]}
        others = [bot for digest, bot in older.items() if digest != self.parent.digest]
        bots = [_named(CANDIDATE, self.candidate), _named(PARENT, self.parent), *(bot.path for bot in others)]
        summary = self._tournament("family", bots, self.settings.family_blocks, {"format": "all", "anchor": PARENT})
        if summary is None:
            return None
        rating = next(one.rating for one in summary.standings if one.bot == CANDIDATE)
        assert rating is not None
        return rating, summary.games

    def store(self, rating: tuple[Rating, int], command: str) -> Path:
        """Write the candidate as the next version of the family, and return its path.

        `rating` is the result of `rating()`, `command` the command line. If the family has no version, the parent becomes its
        first version. The configuration of the family's tournament is written too.
        """
        family = self.family
        if not family.versions():
            family.add(self.parent, [f"{datetime.now(UTC):%Y-%m-%d}. The parent of the first promoted version."])
        found, games = rating
        interval = f", 95 % {found.low:+.0f} .. {found.high:+.0f}" if found.low is not None and found.high is not None else ""
        comments = [
            f"Date: {datetime.now(UTC):%Y-%m-%d}",
            f"Parent: {self.parent.name} (digest {self.parent.digest})",
            f"Command: {command}",
            f"Attempt: {self.attempt.number} of the family; alpha of the test against the parent: {self.alpha:.2g}",
            f"Games: {self.games + games}",
            f"Rating in the family, the parent at 0: {found.rating:+.0f}{interval}",
            *(outcome.text for outcome in self.outcomes),
        ]
        path = family.add(self.candidate, comments)
        self._write_tournament(family)
        return path

    def _write_tournament(self, family: Family) -> None:
        names = [path.name for path in family.versions().values()]
        table = {
            "bots": names,
            "format": "all",
            "blocks": self.settings.family_blocks,
            "rounds": self.settings.rounds,
            "seed": self.settings.seed,
            "limits": self._limits(),
            "maps": {"names": self.settings.maps or [found.name for found in standard_maps()[20:]]},
        }
        text = f"{TOURNAMENT_MARK}: all versions of {family.name} against each other.\n{tomli_w.dumps(table)}"
        Output(family.folder / TOURNAMENT, TOURNAMENT_MARK, "vindibot tune promote", "move it away").write(text)

    def _add(self, outcome: MatchOutcome) -> MatchOutcome:
        self.outcomes.append(outcome)
        return outcome

    def _limits(self) -> dict[str, int]:
        return {"nodes": self.settings.nodes} if self.settings.nodes is not None else {"move_ms": self.settings.move_ms}

    def _maps(self) -> dict[str, Any]:
        if self.settings.maps:
            return {"maps.names": self.settings.maps}
        return {"maps.set": "random", "maps.sizes": SIZES}

    def _tournament(self, name: str, bots: Sequence[str], blocks: int, more: dict[str, Any] | None = None) -> Summary | None:
        """Play a tournament, or its missing games. Return its summary, or None if it was interrupted.

        `more` has settings of the arena that replace those of the other tournaments of the promotion. Raises `VindibotError` if
        results could not be written, or if a bot forfeited too many games.
        """
        path = self.folder / f"attempt-{self.attempt.number}" / f"{name}.jsonl"
        given: dict[str, Any] = {
            "bots": list(bots),
            "format": "ab",
            "blocks": blocks,
            "rounds": self.settings.rounds,
            "seed": self.attempt.seed(self.settings.seed),
            "workers": self.settings.workers,
            "results": str(path),
            "replays": 0,
            **self._maps(),
            **{f"limits.{key}": value for key, value in self._limits().items()},
            **(more or {}),
        }
        given = {key: value for key, value in given.items() if value is not None}
        tournament = prepare(load_config(ArenaSettings, None, given, environ={}), resume=path.is_file())
        whole = self.play(tournament)
        if tournament.error:
            raise VindibotError(tournament.error)
        if not whole:
            return None
        if forfeits := tournament.forfeits():
            raise VindibotError(f"{', '.join(forfeits)} forfeited too many games: see {short(path)}", 6)
        return summarise(
            tournament.lines,
            tournament.bots,
            anchor=tournament.anchor,
            sprt=tournament.settings.sprt,
            planned=blocks,
            level=self.rival_level,
        )


def _named(label: str, bot: Bot) -> str:
    return f"{label}={bot.path}"
