"""A study of ``vindibot tune play``: Optuna's CMA-ES proposes variants of a bot, and games give them values.

The file of a study is a journal of Optuna, so Optuna's own tools read it. Trial 0 is the bot itself, with the value 0. Each other
trial is a **variant**: its parameters are positions (see `TunedParameter`), its intermediate values are the differences of its
blocks to the bot itself, and its value is their mean. A **generation** is a group of variants that CMA-ES proposes together; they
play the same blocks. All numbers are drawn from the seed of the study, so the result depends neither on the number of workers nor
on interruptions.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import CmaEsSampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import FrozenTrial, TrialState, create_trial

from sim.generator import derive_seed
from vindibot.arena.dispatch import Dispatcher, GamePlayers
from vindibot.arena.results import GameLine
from vindibot.arena.schedule import GameTask, MapSet, read_map_set
from vindibot.arena.seats.entrants import Entrant, Limits, unique_label
from vindibot.arena.settings import MapSettings
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.interrupts import Stop
from vindibot.base.system import require_children
from vindibot.base.writing import LineFile, begins_with, short
from vindibot.config.bots import Bot, load_bot
from vindibot.config.load import Config
from vindibot.config.maps import standard_maps
from vindibot.config.signature import build, digest_of
from vindibot.tuning.blocks import GAMES, MINUS, PLUS, BlockMaker, difference
from vindibot.tuning.settings import OUTSIDE, TuneSettings
from vindibot.tuning.space import Floats, ParameterSpace, space_of, with_values

#: The name of the study in Optuna's journal, and the first bytes of such a journal.
NAME, MARK = "tune", b'{"op_code":0,'
INSTEAD = "--study names another file"
#: Share of the generations, counted from the end, and share of the variants of each, the best ones, whose mean is the result.
LAST = BEST = 0.5


def population_of(parameters: int) -> int:
    """Return the number of variants of a generation for this number of parameters, by the rule of CMA-ES."""
    return 4 + math.floor(3 * math.log(parameters))


class StudyError(VindibotError):
    """The file of a study cannot be read or written. The message names the file and the reason."""


class _LockedAlready(JournalFileOpenLock):
    """Optuna's lock for each access to the file. It does nothing, because the study has locked its file from start to end.

    Optuna's own lock outlives a killed process for half a minute.
    """

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


@dataclass
class TuneStudy:
    """A study that `begin` or `resume` has opened. The file stays locked until `play` or `close` ends.

    `blocks` has the differences of the blocks of each variant that is not finished, by the numbers of the trial and the block.
    """

    path: Path
    settings: TuneSettings
    space: ParameterSpace
    pool: tuple[Entrant, ...]
    maps: MapSet
    seed: int
    trials: optuna.Study
    storage: JournalStorage
    lock: LineFile
    blocks: dict[int, dict[int, float]] = field(default_factory=dict)
    _failures: int = 0

    @property
    def limits(self) -> Limits:
        """The limits of all bots."""
        return Limits(nodes=self.settings.nodes)

    @property
    def entrants(self) -> list[Entrant]:
        """The bots that other processes and machines must load: the tuned bot, under both of its labels, and the rivals."""
        return [*(Entrant(label, "bot", self.limits, self.space.bot) for label in (PLUS, MINUS)), *self.pool]

    @property
    def population(self) -> int:
        """The number of variants of a generation."""
        return population_of(len(self.space))

    @property
    def generations(self) -> int:
        """The planned number of generations."""
        return self.settings.games // (GAMES * self.settings.batch * self.population)

    @property
    def variants(self) -> list[FrozenTrial]:
        """The finished variants, in the order of their trials."""
        return self.trials.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))[1:]

    @property
    def finished(self) -> bool:
        """Whether all planned generations have been played."""
        return len(self.variants) >= self.generations * self.population

    def means(self) -> tuple[Floats, Floats]:
        """Return the mean positions (generations x parameters) and the mean value of the best variants of each generation."""
        variants, size = self.variants, self.population
        positions, values = [], []
        for first in range(0, len(variants) // size * size, size):
            best = sorted(variants[first : first + size], key=lambda variant: -float(variant.value or 0))
            best = best[: math.ceil(BEST * size)]
            positions.append(np.mean([[variant.params[key] for key in self.space.keys] for variant in best], axis=0))
            values.append(fmean(float(variant.value or 0) for variant in best))
        return np.reshape(positions, (-1, len(self.space))), np.array(values)

    def result(self) -> tuple[Floats, Floats]:
        """Return the positions of the result, and the standard deviations of the means of the generations that it averages.

        With one generation, the deviations are NaN.
        """
        positions, _ = self.means()
        last = positions[-math.ceil(LAST * len(positions)) :]
        return last.mean(axis=0), last.std(axis=0) if len(last) > 1 else np.full(len(self.space), math.nan)

    def play(
        self,
        factory: Callable[[], GamePlayers],
        slots: int | Callable[[], int],
        *,
        stop: Stop | None = None,
        note: Callable[[str], None] = lambda text: None,
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        """Play the missing games, until the study is finished or `stop` asks to end.

        `factory` makes players of games, which play at most `slots` games at a time (see `Dispatcher`). `note` gets messages for
        the user. `progress` is called after each block.
        """
        lines, stop = defaultdict[int, list[GameLine]](list), stop or Stop()
        tasks, idle = self._tasks(), False
        try:
            while not (self.finished or idle or stop.soon):  # a dispatcher may end too early if games cannot be played
                idle = True
                for played in Dispatcher(factory, slots, note, stop).run(tasks):
                    idle, block = False, lines[played.line.block]
                    block.append(played.line)
                    if len(block) == GAMES:
                        self._add_block(lines.pop(played.line.block))
                        progress()
            next(tasks, None)  # after an interruption, a generation may be complete
        except OSError as problem:
            raise StudyError(f"{short(self.path)}: cannot be written: {problem.strerror or problem}") from None
        finally:
            self.close()

    def close(self) -> None:
        """Give the file back."""
        self.lock.close()

    def _tasks(self) -> Iterator[GameTask | None]:
        """Yield the missing games, one generation after another, and None while a generation is not finished."""
        while not self.finished:
            generation, done = divmod(len(self.variants), self.population)
            for number in [*self.blocks] + [self._propose() for _ in range(self.population - done - len(self.blocks))]:
                yield from self._games(generation, number)
            while any(len(blocks) < self.settings.batch for blocks in self.blocks.values()):
                yield None
            for number in [*self.blocks]:
                self._finish(number)

    def _propose(self) -> int:
        """Let CMA-ES propose a variant, and return the number of its trial."""
        self.trials.sampler = self._sampler(self.trials.get_trials(deepcopy=False)[-1].number + 1)
        number = self.trials.ask(self.distributions).number
        self.blocks[number] = {}
        return number

    def _sampler(self, number: int) -> CmaEsSampler:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the adaptation of the learning rate is experimental
            seed = derive_seed(self.seed, "variant", number) % 2**32
            return CmaEsSampler(lr_adapt=True, popsize=self.population, seed=seed)

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        return {key: FloatDistribution(-1, 1) for key in self.space.keys}

    @cached_property
    def _maker(self) -> BlockMaker:
        settings = self.settings
        identity = digest_of(self.trials.user_attrs["setup"])
        return BlockMaker(identity, self.seed, self.maps, self.pool, settings.self_share, self.limits, settings.rounds)

    def _games(self, generation: int, number: int) -> Iterator[GameTask]:
        """Yield the missing games of a variant. `number` is the number of its trial."""
        params, batch = self.trials.get_trials(deepcopy=False)[number].params, self.settings.batch
        for block in range(batch):
            if block not in self.blocks[number]:
                key = generation * batch + block
                draws = np.random.default_rng(derive_seed(self.seed, "rounding", key)).random(len(self.space))
                values = self.space.values([params[key] for key in self.space.keys], draws)
                yield from self._maker.tasks(number * batch + block, key, with_values(self.space.bot, values), self.space.bot)

    def _add_block(self, games: list[GameLine]) -> None:
        number, block = divmod(games[0].block, self.settings.batch)
        value = difference(games, self.settings.objective)
        self.storage.set_trial_intermediate_value(self._id(number), block, value)
        self.blocks[number][block] = value

    def _id(self, number: int) -> int:
        study = self.storage.get_study_id_from_name(NAME)
        return self.storage.get_trial_id_from_study_id_trial_number(study, number)

    def _finish(self, number: int) -> None:
        """Give a variant its value. A variant none of whose blocks could be played has failed, and another one replaces it."""
        played = [value for value in self.blocks.pop(number).values() if not math.isnan(value)]
        if played:
            self.trials.tell(number, fmean(played))
            self._failures = 0
            return
        self.trials.tell(number, state=TrialState.FAIL)
        self._failures += 1
        if self._failures >= self.population:
            raise StudyError(f"{short(self.path)}: none of the games of the last {self._failures} variants could be played")


def begin(settings: TuneSettings, name: str, path: Path) -> TuneStudy:
    """Begin a study of the bot `name` in a new file, and return it.

    Raises `UsageError` if the bot, a parameter, a rival, a map or the file is wrong, or if there are too few games.
    """
    bot = load_bot(name)
    seed = settings.seed if settings.seed is not None else secrets.randbits(32)
    space, pool, maps = _read(settings, bot)
    lock = LineFile.locked(path, "study", StudyError)
    try:
        if not lock.empty:
            goes_on = "--resume continues it, " if begins_with(path, MARK) else ""
            raise UsageError(f"{short(path)} is there already: {goes_on}{INSTEAD}")
        storage = _storage(path)
        trials = optuna.create_study(study_name=NAME, storage=storage, direction="maximize")
        study = TuneStudy(path, settings, space, pool, maps, seed, trials, storage, lock)
        start = dict.fromkeys(space.keys, 0.0)
        trials.add_trial(create_trial(value=0.0, params=start, distributions=study.distributions))
        trials.set_user_attr("games", settings.games)
        setup = {"bot": bot.path, "seed": seed, "settings": settings.setup(), **_state(bot, pool, maps)}
        trials.set_user_attr("setup", setup)  # the last entry: a study that has it is complete
    except BaseException:
        lock.discard()
        raise
    return study


def resume(path: Path, config: Config[TuneSettings]) -> TuneStudy:
    """Open the file of a study, and return the study.

    `config` has the settings of this run. Settings that determine the games come from the file; only the number of games may
    grow. Raises `UsageError` if `config` sets another value, if the file is no study, or if the bot, a rival, the maps or
    vindibot have changed since the study began, and `StudyError` for a file that cannot be read.
    """
    if not path.is_file():
        raise UsageError(f"{short(path)}: there is no such study")
    lock = LineFile.locked(path, "study", StudyError)
    try:
        if not begins_with(path, MARK):
            raise UsageError(f"{short(path)} is no study of vindibot tune")
        os.truncate(path, len(_complete(path.read_bytes())))
        try:
            storage = _storage(path)
            trials = optuna.load_study(study_name=NAME, storage=storage)
            setup, games = trials.user_attrs["setup"], trials.user_attrs["games"]
            stored = TuneSettings.model_validate({**setup["settings"], "games": games, "seed": setup["seed"]})
        except Exception as problem:  # Optuna does not check the entries
            reason = f"{type(problem).__name__}: {problem}"
            raise StudyError(f"{short(path)}: Optuna cannot read a study in this file ({reason}): begin a new study", 2) from None
        settings = _settled(config, stored)
        bot = load_bot(setup["bot"])
        space, pool, maps = _read(settings, bot)
        now = _state(bot, pool, maps)
        words = {"bot_digest": f"the bot {bot.name}", "pool": "a rival", "maps": "a map", "sources": "the code of vindibot"}
        changed = [text for key, text in words.items() if now[key] != setup.get(key)]
        if changed:
            raise UsageError(f"{short(path)}: {' and '.join(changed)} has changed since the study began: begin a new study")
        trials.set_user_attr("games", settings.games)
        study = TuneStudy(path, settings, space, pool, maps, setup["seed"], trials, storage, lock)
        for trial in trials.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if len(trial.params) == len(space):
                study.blocks[trial.number] = dict(trial.intermediate_values)
            else:  # a crash while it was proposed
                trials.tell(trial.number, state=TrialState.FAIL)
    except BaseException:
        lock.close()
        raise
    return study


def _complete(content: bytes) -> bytes:
    """Return the content of a file of JSON lines without a last line that a crash has left unfinished."""
    lines = content.splitlines(keepends=True)
    with contextlib.suppress(ValueError, IndexError):
        json.loads(lines[-1])
        if lines[-1].endswith(b"\n"):
            return content
    return b"".join(lines[:-1])


def _settled(config: Config[TuneSettings], study: TuneSettings) -> TuneSettings:
    """Return the settings of a study that is resumed. `study` has the settings that determine its games.

    Raises `UsageError` if `config` sets another value of one of them, or a smaller number of games.
    """
    for key in dict.fromkeys(origin.partition(".")[0] for origin in config.origins):
        present, stored = getattr(config.settings, key), getattr(study, key)
        if key == "study":
            raise config.refuse(key, "names another file than --resume: leave one of them out")
        if (key not in OUTSIDE or key in ("games", "seed")) and present != stored and not (key == "games" and present > stored):
            more = "only the number of games may grow" if key == "games" else "the settings of a study stay as they were"
            raise config.refuse(key, f"is {present!r}, but the study has {stored!r}: {more}")
    games = config.settings.games if "games" in config.origins else study.games
    present = {key: getattr(config.settings, key) for key in OUTSIDE}
    return study.model_copy(update={**present, "games": games, "seed": study.seed})


def _storage(path: Path) -> JournalStorage:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return JournalStorage(JournalFileBackend(str(path), lock_obj=_LockedAlready(str(path))))


def _read(settings: TuneSettings, bot: Bot) -> tuple[ParameterSpace, tuple[Entrant, ...], MapSet]:
    """Return the parameters, the rivals and the maps of a study. Raises `UsageError`, also for too few games."""
    require_children()
    space = space_of(bot, settings.parameters, settings.exclude, settings.ranges, settings.spread)
    least = GAMES * settings.batch * population_of(len(space))
    if settings.games < least:
        raise UsageError(f"games: one generation of {len(space)} parameters takes {least} games, more than {settings.games}")
    pool: list[Entrant] = []
    for rival in map(load_bot, settings.pool):
        label = unique_label(rival.name, [PLUS, MINUS, *(entrant.label for entrant in pool)])
        pool.append(Entrant(label, "bot", Limits(nodes=settings.nodes), rival))
    names = settings.maps or [board.name for board in standard_maps()[:20]]
    return space, tuple(pool), read_map_set(MapSettings(names=names), 0)


def _state(bot: Bot, pool: tuple[Entrant, ...], maps: MapSet) -> dict[str, Any]:
    """Return digests of what must stay the same while a study is played."""
    rivals = {entrant.label: entrant.digest for entrant in pool}
    return {"bot_digest": bot.digest, "pool": rivals, "maps": maps.identity(), "sources": build().sources}
