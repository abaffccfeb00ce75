"""The first module of a fork server: it makes the server import vindibot from the same place as the process that started it.

This module is alone in its folder. So the folder can be first on the import path of a new interpreter and hides no other module.
The fork server of `vindibot.engine.process` runs this module as a program, with the parameters in its argument. The fork server
of `multiprocessing` imports it, with the parameters in an environment variable.
"""

import json
import os
import sys


def find_vindibot(top: str, path: list[str]) -> None:
    """Import our packages from the folder `top`. Then set the import path to `path`, the import path of the parent process."""
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
