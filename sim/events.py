"""Events: what happens in a ply. `sim.rules.play` lists the events of a ply in a log.

An event is a record of dtype `EVENT`. Heroes are 0..3 or `NO_HERO`, and squares are numbered as in `sim.game`. The kind of an
event decides what its fields mean. A field that the table does not name for a kind is 0:

===================  ========================================================================================
kind                 fields
===================  ========================================================================================
``MOVED``            `hero` went from `square` to `to`
``DRANK``            `hero` drank at the tavern on `square` and got `amount` life
``TOOK_MINE``        `hero` took the mine on `square` from `other` (`NO_HERO` if no hero owned it)
``STRUCK``           `hero` struck `other`. `other` loses 20 life, or all its life if a kill follows
``KILLED``           `hero` killed `other` by a blow
``KILLED_ON_SPAWN``  `hero` respawned on the square of `other`, and `other` died
``DIED_IN_MINE``     `hero` died when it attacked the mine on `square`
``INHERITED``        `hero` died, and its `amount` mines go to `other` (`NO_HERO` if no hero killed it)
``RESPAWNED``        `hero` respawned: it died on `square` and stands on `to`, its spawn square
``CRASHED``          `hero` crashed: it stays where it is from now on
===================  ========================================================================================

Events have the order of the rules. Thirst and income happen in every ply and are not listed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sim.kernel_types import EventLogRecord, array_of, record
from sim.kernels import kernel

MOVED, DRANK, TOOK_MINE, STRUCK, KILLED, KILLED_ON_SPAWN, DIED_IN_MINE, INHERITED, RESPAWNED, CRASHED = range(10)
#: The name of every kind; the index is the kind.
KINDS = (
    *("moved", "drank", "took a mine", "struck", "killed", "killed on spawn"),
    *("died in a mine", "inherited", "respawned", "crashed"),
)
#: The value of `other` if the event has no other hero.
NO_HERO = -1
#: Largest number of events in the log of a ply. A ply has at most one step, three blows, and a death of each hero per blow.
MAX_EVENTS = 64

#: One event: 10 bytes. See the module.
EVENT = record(kind="u1", hero="i1", other="i1", unused="u1", square="i2", to="i2", amount="i2")
#: The events of one ply: the first `count` entries of `event`.
EVENT_LOG = record(count="i4", event=(EVENT, MAX_EVENTS))

#: numba's types of arrays of events, and of logs.
EVENTS = array_of(EVENT)
EVENT_LOGS = array_of(EVENT_LOG)

#: An array of dtype `EVENT`.
Events = NDArray[np.void]


@kernel
def note(log: EventLogRecord, kind: int, hero: int, other: int, square: int, to: int, amount: int) -> None:
    """Add an event with these fields (see `EVENT`) to an `EVENT_LOG` record. If the record is full, leave the event out."""
    if log.count < MAX_EVENTS:
        event = log.event[log.count]
        event.kind, event.hero, event.other = kind, hero, other
        event.square, event.to, event.amount = square, to, amount
        log.count += 1
