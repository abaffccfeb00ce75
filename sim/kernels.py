"""Compiled kernels: how they are declared, where their machine code is kept, how they are warmed.

These decorators are the whole interface:

``@kernel``
    a helper that only other kernels call. It is linked into them and never cached on its own. ``@inlined`` is the same,
    written out at every call.
``@entry(signature)``
    a function that Python calls. It has exactly one signature, is kept on disk, and is listed for `warm`.

numba's cache looks only at the file of the entry function: a helper changed in another file, or an imported constant, would
silently keep the old machine code. So the cache folder is named by a digest of every source file of ``sim`` and
``behaviours`` and of the numba, numpy and Python versions; folders that were not used lately are removed.

After `warm` no entry can compile any more: an argument of a new type (a read-only array, say) is an error that names the
kernel, never a pause of seconds in the middle of a game.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from filelock import FileLock
from platformdirs import user_cache_path

from sim import sources

__all__ = ["cache_folder", "entry", "inlined", "kernel", "warm"]

#: How many cache folders (one for each state of the sources) are kept.
KEPT_FOLDERS = 4
#: Tells child processes which folder their parent settled on.
FOLDER_VARIABLE = "VINDIBOT_KERNEL_CACHE"
#: What our cache folders are called. A folder of somebody else that is called nearly so must not be removed.
_OURS = re.compile(r"kernels-[0-9a-f]{16}")
#: The file in a cache folder that lists the entries compiled into it.
LIST = "compiled.txt"

_entries: list[tuple[Any, Any]] = []
_warm = False


def _digest() -> str:
    """A name for the sources and tools that the machine code depends on."""
    text = f"{sys.version} {numba.__version__} {np.__version__} {sources.digest()}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _choose_folder() -> Path:
    name = f"kernels-{_digest()}"
    inherited = os.environ.get(FOLDER_VARIABLE)
    # Only a parent with the same sources may choose for us: the variable also reaches programs of other versions.
    if inherited and Path(inherited).name == name and _writable(Path(inherited)):
        return Path(inherited)
    configured = os.environ.get("NUMBA_CACHE_DIR")
    base = Path(configured) if configured else user_cache_path("vindibot", appauthor=False)
    folder = base / name
    if not _writable(folder):
        refused = folder
        scratch = tempfile.mkdtemp(prefix="vindibot-")
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        folder = Path(scratch) / name
        folder.mkdir()
        warnings.warn(
            f"the kernel cache {refused} cannot be written; kernels are compiled again into {folder} "
            "(set NUMBA_CACHE_DIR to a folder of yours to keep them)",
            RuntimeWarning,
            stacklevel=2,
        )
    os.environ[FOLDER_VARIABLE] = str(folder)
    return folder


_folder = _choose_folder()
numba.config.CACHE_DIR = str(_folder)  # type: ignore[attr-defined]  # made at run time
if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    np.seterr(over="ignore")  # integers wrap around, as they do in compiled code


def cache_folder() -> Path:
    """Where the machine code of this state of the sources is kept."""
    return _folder


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a helper that only kernels call."""
    return numba.njit(error_model="numpy", nogil=True)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Like `kernel`, and written out wherever it is called: for the few that a loop calls millions of times a second."""
    return numba.njit(error_model="numpy", nogil=True, forceinline=True)(function)


def entry(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a kernel that Python calls, with this one `signature`, kept on disk between runs."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(error_model="numpy", nogil=True, cache=True)(function)
        _entries.append((dispatcher, signature))
        return dispatcher

    return decorate


def entries() -> list[tuple[Any, Any]]:
    """All entry kernels imported so far with their signatures, in the order of their declaration."""
    return list(_entries)


def _compile_all(progress: Callable[[int, int, str], None] | None) -> None:
    for done, (dispatcher, signature) in enumerate(_entries):
        if progress is not None:
            progress(done, len(_entries), dispatcher.py_func.__qualname__)
        if not dispatcher.signatures:
            dispatcher.compile(signature)
    if progress is not None:
        progress(len(_entries), len(_entries), "")


def _jit_is_off() -> bool:
    """Whether kernels run as plain Python (NUMBA_DISABLE_JIT=1), to find what compiled code hides."""
    return bool(getattr(numba.config, "DISABLE_JIT", 0))


def _names() -> set[str]:
    """The entries that this process has imported."""
    return {f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}" for dispatcher, _ in _entries}


def _compiled() -> set[str]:
    """The entries that some process has compiled into the folder, as its list says."""
    try:
        return set((_folder / LIST).read_text("utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return set()


def _note_compiled() -> None:
    """Add our entries to the list; a list that is cut off has names missing, and costs a look at the cache."""
    with contextlib.suppress(OSError):
        (_folder / LIST).write_text("\n".join(sorted(_compiled() | _names())) + "\n", "utf-8")


def cached() -> bool:
    """Whether `warm` will find what it needs on disk, so that it takes a moment and not a minute."""
    return _jit_is_off() or _names() <= _compiled()


def warm(progress: Callable[[int, int, str], None] | None = None) -> None:
    """Load or compile every entry kernel that has been imported, and forbid compilation from then on.

    The first process compiles under a file lock while others wait for its result. `progress` is told
    (done, total, name of the kernel that comes next). Unreadable cache files are removed and made again.
    """
    global _warm
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return
    _writable(_folder)  # somebody may have removed it since we started
    if cached():
        _load_or_rebuild(progress)
    else:
        with FileLock(_folder.with_suffix(".lock")):
            _load_or_rebuild(progress)
            _note_compiled()
    for dispatcher, _ in _entries:
        dispatcher.disable_compile()
    if not _warm:
        _warm = True
        _remove_old_folders()


def _load_or_rebuild(progress: Callable[[int, int, str], None] | None) -> None:
    try:
        _compile_all(progress)
    except Exception as problem:  # whatever a damaged index or object file makes numba raise
        warnings.warn(
            f"the kernel cache {_folder} could not be read ({type(problem).__name__}); compiling it again",
            RuntimeWarning,
            stacklevel=3,
        )
        shutil.rmtree(_folder, ignore_errors=True)
        _folder.mkdir(parents=True, exist_ok=True)
        _compile_all(progress)
        _note_compiled()


def _remove_old_folders() -> None:
    """Keep the folders used last; the time of use is the modification time of the folder."""
    try:
        os.utime(_folder)
        others = [path for path in _folder.parent.iterdir() if _OURS.fullmatch(path.name) and path.is_dir() and path != _folder]
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for old in others[KEPT_FOLDERS - 1 :]:
            shutil.rmtree(old, ignore_errors=True)
            old.with_suffix(".lock").unlink(missing_ok=True)
    except OSError:
        pass  # another process is tidying up, or the folder is not ours to clean
