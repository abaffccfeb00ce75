"""What the fork server imports once, so that every worker is born warm: the project, the bot's traits, compiled kernels.

The fork server, and nobody else, imports this module, before it forks anything. Which modules a bot needs besides, and in
which folders they lie, comes in through the environment, for the fork server knows nothing of its parent's ``sys.path``.
Whatever fails here must not end the fork server; a worker meets the same failure again and reports it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os


def _load() -> None:
    from sim import kernels
    from vindibot.bots import make_importable
    from vindibot.process import PRELOAD_VARIABLE

    wanted = json.loads(os.environ.get(PRELOAD_VARIABLE, "{}"))
    make_importable(wanted.get("folders", ()))
    for module in ("vindibot.worker", *wanted.get("modules", ())):
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    kernels.warm()
    gc.collect()
    gc.freeze()  # what is shared by all workers need not be walked, and so copied, by each


with contextlib.suppress(Exception):
    _load()
