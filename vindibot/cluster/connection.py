"""The connection to the machines of a cluster that play the games of a command."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vindibot.arena.dispatch import Elsewhere
    from vindibot.arena.seats.entrants import Entrant
    from vindibot.arena.settings import ClusterSettings
    from vindibot.arena.tournament import Tournament


def check_machines(settings: ClusterSettings) -> None:
    """Raise `UsageError` if a cluster is wanted, but its settings are wrong or Dask is not installed."""
    if settings.address:
        from vindibot.cluster.access import check_cluster

        check_cluster(settings)


def machines(
    settings: ClusterSettings,
    entrants: Sequence[Entrant],
    workers: int,
    notify: Callable[[str], None],
    *,
    timed: bool = False,
    cpu: str = "",
) -> contextlib.AbstractContextManager[Elsewhere | None]:
    """Return a context manager that connects to the machines of a cluster. Without an address, its value is None.

    See `vindibot.cluster.driver.other_machines` for the arguments and the errors.
    """
    if not settings.address:
        return contextlib.nullcontext()
    from vindibot.cluster.driver import other_machines

    return other_machines(settings, entrants, workers, notify, timed=timed, cpu=cpu)


def machines_for(
    tournament: Tournament, settings: ClusterSettings, notify: Callable[[str], None]
) -> contextlib.AbstractContextManager[Elsewhere | None]:
    """Do the same as `machines` for the bots of a tournament."""
    entrants, workers = tournament.schedule.entrants, tournament.workers
    return machines(settings, entrants, workers, notify, timed=tournament.timed, cpu=tournament.cpu)
