"""The iterates of a study as trials of Optuna, stored in the file of the study. A trial is an iterate, not a game."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import BaseJournalBackend
from optuna.trial import TrialState, create_trial

from vindibot.base.writing import short
from vindibot.tuning.space import ParameterSpace
from vindibot.tuning.study_file import StudyError, StudyFile

#: The name of the study in Optuna's journal.
NAME = "tune"


class _FileBackend(BaseJournalBackend):
    """Optuna's journal, stored as lines of the file of a study. The file is locked, so only one process writes to it."""

    def __init__(self, file: StudyFile) -> None:
        self._file = file

    def read_logs(self, log_number_from: int) -> Iterable[dict[str, Any]]:
        return self._file.journal[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        for entry in logs:
            self._file.add_journal(entry)


def _created(file: StudyFile) -> optuna.Study:
    return optuna.create_study(study_name=NAME, storage=JournalStorage(_FileBackend(file)), direction="maximize")


def _loaded(file: StudyFile) -> optuna.Study:
    try:
        return optuna.load_study(study_name=NAME, storage=JournalStorage(_FileBackend(file)))
    except Exception as problem:  # Optuna does not check the entries
        raise StudyError(f"{short(file.path)}: Optuna cannot read its entries: {type(problem).__name__}: {problem}", 2) from None


class Trials:
    """The trials of a study.

    Trial k is iterate k. A trial has the point of its iterate. Its value is the level of the iterate's blocks.
    """

    def __init__(self, file: StudyFile, space: ParameterSpace) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.study = _loaded(file) if file.journal else _created(file)
        self._distributions = {one.key: FloatDistribution(one.low, one.high) for one in space.parameters}
        self.count = len(self.study.get_trials(deepcopy=False))

    def add(self, point: Mapping[str, float], value: float | None, **attributes: Any) -> None:
        """Add the next trial. `point` has values by key, `value` is the level. If it is None, the trial has failed."""
        wanted: dict[str, BaseDistribution] = {key: self._distributions[key] for key in point}
        limits = self._distributions
        inside = {key: min(max(float(one), limits[key].low), limits[key].high) for key, one in point.items()}
        state = TrialState.COMPLETE if value is not None else TrialState.FAIL
        self.study.add_trial(create_trial(state=state, params=inside, distributions=wanted, value=value, user_attrs=attributes))
        self.count += 1

    def importance(self) -> dict[str, float]:
        """Return the importance (0..1) of each parameter by Optuna's PED-ANOVA, largest first. With few trials it is empty."""
        from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

        if self.count < 20:
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # experimental
            try:
                found = get_param_importances(self.study, evaluator=PedAnovaImportanceEvaluator())
            except (RuntimeError, ValueError):
                return {}
        return dict(found)
