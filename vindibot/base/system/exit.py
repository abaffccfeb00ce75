"""The end of this process at once. It works on all systems."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import NoReturn

#: Ends this process at once, with an exit code. It is a name of its own, since `behaviours.registry` replaces `os._exit` while
#: modules of bots are imported. `os.name` is also the name of the module with the system's own functions.
exit_now: Callable[[int], NoReturn] = import_module(os.name)._exit  # noqa: SLF001  # it has no other name
