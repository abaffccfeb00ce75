"""A study of ``vindibot tune play``: it plays the blocks of a search and stores their results."""

from __future__ import annotations

import math
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from vindibot.arena.dispatch import Dispatcher, GamePlayers, Stop
from vindibot.arena.mapsets import MapSet, read_map_set
from vindibot.arena.results import GameLine
from vindibot.arena.schedule import GameTask
from vindibot.arena.seats.entrants import Entrant, Limits, unique_label
from vindibot.arena.settings import MapSettings
from vindibot.base.errors import UsageError
from vindibot.base.writing import short
from vindibot.config.bots import Bot, load_bot
from vindibot.config.maps import standard_maps
from vindibot.config.signature import build
from vindibot.processes.support import require_children
from vindibot.tuning.blocks import MINUS, PLUS, BlockMaker, BlockResult, result_of
from vindibot.tuning.methods.search import Iterate, SearchResult, objective_of, search
from vindibot.tuning.settings import TuneSettings
from vindibot.tuning.space import ParameterSpace, space_of
from vindibot.tuning.study_file import StudyFile

if TYPE_CHECKING:
    from vindibot.tuning.trials import Trials


@dataclass
class TuneStudy:
    """A study that `begin` or `resume` has made.

    `result` is the result of the study, None while games are missing. `levels` has the level of each finished iterate, NaN if
    none of its blocks could be played. `importance` has the importance of parameters (0..1) by key. `iterate` is the iterate
    whose games are played.
    """

    file: StudyFile
    settings: TuneSettings
    space: ParameterSpace
    pool: tuple[Entrant, ...]
    maps: MapSet
    seed: int
    result: SearchResult | None = None
    levels: list[float] = field(default_factory=list)
    importance: dict[str, float] = field(default_factory=dict)
    iterate: Iterate = field(init=False)

    @property
    def entrants(self) -> list[Entrant]:
        """The bots that other processes and machines must load: the tuned bot, under both of its labels, and the rivals."""
        return [*(Entrant(label, "bot", self.limits, self.space.bot) for label in (PLUS, MINUS)), *self.pool]

    @property
    def limits(self) -> Limits:
        """The limits of all bots."""
        return Limits(nodes=self.settings.nodes)

    @property
    def blocks(self) -> int:
        """The planned number of blocks. If no parameter matters, the study ends earlier, after the screening."""
        return self.settings.games // 2

    def play(
        self,
        factory: Callable[[], GamePlayers],
        slots: int | Callable[[], int],
        *,
        stop: Stop | None = None,
        note: Callable[[str], None] = lambda text: None,
        progress: Callable[[Iterate, TuneStudy], None] = lambda iterate, study: None,
    ) -> None:
        """Play the missing games, until the study is finished or `stop` asks to end.

        `factory` makes players of games, which play at most `slots` games at a time (see `Dispatcher`). `note` gets messages for
        the user. `progress` is called after each block. The result does not depend on the number of workers, because an iterate
        begins only after the previous iterate has ended.
        """
        from vindibot.tuning.trials import Trials

        trials = Trials(self.file, self.space)
        lines, asked = defaultdict[int, list[GameLine]](list), stop or Stop()
        self.result, self.levels = None, []
        tasks, ended = self._tasks(trials), False
        try:
            # A dispatcher may end too early if games cannot be played.
            while self.result is None and not ended and not asked.soon:
                ended = True
                for played in Dispatcher(factory, slots, note, asked).run(tasks):
                    ended = False
                    block = lines[played.line.block]
                    block.append(played.line)
                    if len(block) == played.line.games:
                        self.file.add_block(played.line.block, result_of(lines.pop(played.line.block)))
                        progress(self.iterate, self)
            next(tasks, None)  # after an interruption, an iterate may be complete
            self.importance = trials.importance() if self.result is not None and self.result.chosen else {}
        finally:
            self.file.close()

    def _tasks(self, trials: Trials) -> Iterator[GameTask | None]:
        """Yield the missing games, one iterate after another, and None while an iterate is not finished.

        Set `iterate` to the present iterate, and at the end of the search `result`.
        """
        settings, bot_at, blocks = self.settings, self.space.bot_at, self.file.blocks
        maker = BlockMaker(self.file.digest, self.seed, self.maps, self.pool, settings.self_share, self.limits, settings.rounds)
        steps = search(self.space, settings, self.seed)
        self.iterate = next(steps)
        while self.result is None:
            plans = self.iterate.plans
            for plan in plans:
                if plan.number not in blocks:
                    yield from maker.tasks(plan.number, bot_at(plan.plus), bot_at(plan.minus))
            while not all(plan.number in blocks for plan in plans):
                yield None
            results = [blocks[plan.number] for plan in plans]
            self._finish(trials, self.iterate, results)
            try:
                self.iterate = steps.send(results)
            except StopIteration as end:
                self.result = end.value

    def _finish(self, trials: Trials, iterate: Iterate, results: Sequence[BlockResult]) -> None:
        """Count a finished iterate. Store it as a trial, unless an earlier run has stored it."""
        found = objective_of(results, self.settings.objective)
        level, spread = (None, 0.0) if found is None else found
        if len(self.levels) >= trials.count:
            trials.add(iterate.point, level, phase=iterate.phase, blocks=len(results), spread=spread)
        self.levels.append(math.nan if level is None else level)


def begin(settings: TuneSettings, name: str, path: Path) -> TuneStudy:
    """Begin a study of the bot `name` in a new file, and return it.

    Raises `UsageError` if the bot, a parameter, a rival, a map or the file is wrong, or if there are too few games.
    """
    require_children()
    bot = load_bot(name)
    space = space_of(bot, settings.parameters, settings.exclude, settings.ranges, settings.step)
    seed = settings.seed if settings.seed is not None else secrets.randbits(32)
    maps, pool = _maps(settings), _pool(settings)
    next(search(space, settings, seed))  # it refuses too few games
    setup = {
        "bot": bot.path,
        "bot_digest": bot.digest,
        "pool": {entrant.label: entrant.digest for entrant in pool},
        "maps": maps.identity(),
        "sources": build().sources,
        "seed": seed,
        "settings": settings.setup(),
    }
    return TuneStudy(StudyFile.create(path, setup), settings, space, pool, maps, seed)


def resume(path: Path, settings: TuneSettings) -> TuneStudy:
    """Open the file of a study, and return the study. `settings` are the settings of this run.

    Settings that determine the games come from the file, not from `settings`.

    Raises `UsageError` if the bot, a rival, the maps or vindibot have changed since the study began.
    """
    require_children()
    file = StudyFile.resume(path)
    try:
        setup = file.setup
        settings = TuneSettings.model_validate(
            {**settings.model_dump(include={"workers", "out", "report", "cluster", "log"}), **setup["settings"]}
        )
        bot: Bot = load_bot(setup["bot"])
        maps, pool = _maps(settings), _pool(settings)
        now = {
            "bot_digest": bot.digest,
            "pool": {entrant.label: entrant.digest for entrant in pool},
            "maps": maps.identity(),
            "sources": build().sources,
        }
        words = {"bot_digest": f"the bot {bot.name}", "pool": "a rival", "maps": "a map", "sources": "the code of vindibot"}
        changed = [text for key, text in words.items() if now[key] != setup[key]]
        if changed:
            raise UsageError(f"{short(path)}: {' and '.join(changed)} has changed since the study began: begin a new study")
        space = space_of(bot, settings.parameters, settings.exclude, settings.ranges, settings.step)
    except BaseException:
        file.close()
        raise
    return TuneStudy(file, settings, space, pool, maps, setup["seed"])


def _maps(settings: TuneSettings) -> MapSet:
    names = settings.maps or [found.name for found in standard_maps()[:20]]
    return read_map_set(MapSettings(names=names), 0)


def _pool(settings: TuneSettings) -> tuple[Entrant, ...]:
    limits = Limits(nodes=settings.nodes)
    found: list[Entrant] = []
    for name in settings.pool:
        bot = load_bot(name)
        label = unique_label(bot.name, [PLUS, MINUS, *(one.label for one in found)])
        found.append(Entrant(label, "bot", limits, bot))
    return tuple(found)
