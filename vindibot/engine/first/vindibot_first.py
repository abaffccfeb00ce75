"""The first module of a fork server of `multiprocessing`: it imports vindibot from the same place as the parent process.

This module is alone in its folder. So the folder can be first on the import path of a new interpreter and hides no other module.
The parameters are in an environment variable (see `vindibot.engine.process`).
"""

import json
import os
import sys

_told = json.loads(os.environ["VINDIBOT_TOLD"])
sys.path[:] = [_told["top"], *_told["path"]]
os.environ["VINDIBOT_KERNEL_CACHE"] = _told["cache"]  # the first import of kernels removes it
for _package in ("sim", "behaviours", "vindibot"):
    __import__(_package)
sys.path[:] = _told["path"]

from vindibot.engine.process import load  # noqa: E402

load(_told)
