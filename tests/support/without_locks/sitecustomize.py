"""Makes a program that starts with this folder in PYTHONPATH see a file system without file locks.

The errors are those of NFS without a lock service, or of Lustre without the option `flock`: ``WITHOUT_LOCKS`` names the error.
"""

from __future__ import annotations

import errno
import fcntl
import os
from typing import Any, NoReturn

ERROR = getattr(errno, os.environ.get("WITHOUT_LOCKS", "ENOSYS"))
_fcntl = fcntl.fcntl


def refused(*arguments: Any) -> NoReturn:
    raise OSError(ERROR, os.strerror(ERROR))


def without_locks(file: Any, command: int, argument: Any = 0) -> Any:
    if command in (fcntl.F_OFD_SETLK, fcntl.F_OFD_SETLKW, fcntl.F_SETLK, fcntl.F_SETLKW):
        refused()
    return _fcntl(file, command, argument)


fcntl.flock = refused
fcntl.lockf = refused
fcntl.fcntl = without_locks
