"""The first that a fork server runs: it has vindibot found where the process that started it has found it.

It lies in a folder of its own, so that this folder can be on the import path of a new interpreter, before its own modules, and
hide none of them. It is a program for the fork server of `vindibot.engine.process`, whose argument says the rest, and a module
for that of `multiprocessing`, where a variable of the environment says it.
"""

import json
import os
import sys


def find_vindibot(top: str, path: list[str]) -> None:
    """Have the import path of the process that started this one. Our packages are those that it has, wherever else they lie."""
    sys.path[:] = [top, *path]
    for package in ("sim", "behaviours", "vindibot"):
        __import__(package)
    sys.path[:] = path


if __name__ == "__main__":
    _told = json.loads(sys.argv[1])
    find_vindibot(_told["top"], _told["path"])

    from vindibot.engine.forkserver import main

    main(_told.pop("requests"), _told)
else:
    _told = json.loads(os.environ["VINDIBOT_TOLD"])
    find_vindibot(_told["top"], _told["path"])

    from vindibot.engine.preload import load_for_multiprocessing

    load_for_multiprocessing(_told)
