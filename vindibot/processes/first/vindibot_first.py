"""The first module of a fork server: it makes the server import vindibot from the same place as the process that started it.

This module is alone in its folder. So the folder can be first on the import path of a new interpreter and hides no other module.
`vindibot.processes.server` runs this module as a program, with the parameters in its argument.
"""

import json
import sys

_told = json.loads(sys.argv[1])
sys.path[:] = [_told["top"], *_told["path"]]
for _package in ("sim", "behaviours", "vindibot"):
    __import__(_package)
sys.path[:] = _told["path"]

from vindibot.processes.keeper import main  # noqa: E402

main(_told)
