"""Games of known strength for the tests of tuning: a parameter has an optimum, and its distance from the optimum costs points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sim.generator import derive_seed
from tests.support.arenagames import game_line
from tests.support.players import at_once
from vindibot.arena.results import PlayedGame
from vindibot.arena.schedule import GameTask
from vindibot.base.interrupts import Stop
from vindibot.config.bots import Bot
from vindibot.config.load import Config, load_config
from vindibot.statistics.ratings import POINTS
from vindibot.tuning.settings import TuneSettings
from vindibot.tuning.study import TuneStudy

#: 25 parameters of the bot `searcher`, which a test tunes.
TUNED = ["traits.search.*"]
EXCLUDED = ["*.nodes", "*.weight"]
#: Three of them, ruined: their values in the bot file of the test.
RUINED = {"traits.search.weights.keep": 20.0, "traits.search.weights.life": 10.0, "traits.search.weights.tavern": 2.4}


def value_of(bot: Bot, key: str) -> float:
    """Return the value of a parameter of a bot."""
    found: Any = {f"traits.{spec.label}": behaviour for spec, behaviour in bot.build()}
    label = next(label for label in found if key.startswith(f"{label}."))
    found = found[label]
    for name in key.removeprefix(f"{label}.").split("."):
        found = getattr(found, name)
    return float(found)


@dataclass
class KnownGame:
    """Plays games whose outcome follows from known strengths, by the Plackett-Luce model.

    `optimum` has the best value of each parameter that matters. `points` is the loss in rating points at the value `ruined`. The
    loss grows with the square of the distance.
    """

    optimum: Mapping[str, float] = field(default_factory=dict)
    ruined: Mapping[str, float] = field(default_factory=dict)
    points: float = 120.0
    rivals: float = 50.0
    played: int = 0

    def strength(self, bot: Bot) -> float:
        """Return the rating points of a bot."""
        tables = {spec.label: spec.parameters for spec in bot.traits}
        total = 0.0
        for key, best in self.optimum.items():
            found: Any = tables
            for name in key.split(".")[1:]:
                found = found[name]
            total -= self.points * ((found - best) / (self.ruined[key] - best)) ** 2
        return total

    def __call__(self, task: GameTask) -> PlayedGame:
        self.played += 1
        rng = np.random.default_rng(derive_seed(task.seed, "noise", task.game))
        labels = [seat.entrant.label for seat in task.seats]
        own = [self.strength(seat.entrant.bot) if seat.entrant.label in ("plus", "minus") else self.rivals for seat in task.seats]
        seats = np.random.default_rng(task.seed).normal(0, 0.5, 4)
        golds = np.exp(np.array(own) / POINTS + seats + rng.gumbel(size=4)) * 100
        return PlayedGame(
            game_line(labels, golds.astype(int).tolist(), block=task.block, game=task.game, games=task.games), b"{}"
        )


def ruined_bot(folder: Path, values: Mapping[str, float]) -> str:
    """Write a bot file that extends `searcher` with these values, and return its path."""
    lines = ['extends = "searcher"', "[traits.search.weights]"]
    lines += [f"{key.rpartition('.')[2]} = {value}" for key, value in values.items()]
    (folder / "ruined.toml").write_text("\n".join(lines) + "\n")
    return str(folder / "ruined.toml")


def settings(**more: Any) -> TuneSettings:
    """Return settings of a small study."""
    values = {"parameters": TUNED, "exclude": EXCLUDED, "games": 600, "seed": 3, "report": False}
    return TuneSettings.model_validate(values | more)


def going_on(**values: Any) -> Config[TuneSettings]:
    """Return settings for `resume`. The command sets only `values`."""
    return load_config(TuneSettings, None, values, environ={})


def play(study: TuneStudy, game: KnownGame, *, most: int | None = None) -> TuneStudy:
    """Play a study with known games. With `most`, stop after this number of blocks."""
    stop, count = Stop(), 0

    def progress() -> None:
        nonlocal count
        count += 1
        if most is not None and count >= most:
            stop.soon = stop.now = True

    study.play(at_once(game), 1, stop=stop, progress=progress)
    return study
