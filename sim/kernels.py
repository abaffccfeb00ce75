"""Kernels (functions that numba compiles): decorators that declare them, the cache of their machine code, and warming up.

The decorators:

``@kernel``
    a helper that only other kernels call. It is linked into these kernels and has no cache of its own. ``@inlined`` declares a
    helper of this kind that is inlined at every call.
``@entry(signature)``
    a function that Python calls. It has exactly one signature, is cached on disk, and is compiled or loaded by `warm`.

numba's own cache depends only on the file of the entry function. After a change of a helper or constant in another file, numba
would load old machine code. So the name of our cache folder is a digest. It covers all source files of ``sim`` and
``behaviours``, and the versions of numba, numpy and Python. The folders used least recently are removed.

The kernels of any other module (a user's own trait) have a folder of their own inside the cache folder. The name of this folder
is a digest of the module's file and of the user's files that the module imports. After a change in one of these files, only the
kernels of this module are compiled again. Two bots may have modules of the same name.

After `warm`, no entry can be compiled. An argument of a new type (for example, a read-only array) raises an error that names the
kernel. Without this rule, the compilation would pause a running game for seconds.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from filelock import FileLock
from platformdirs import user_cache_path

from sim import sources
from sim.ownsources import digest_of, own_sources

__all__ = ["KernelError", "cache_folder", "entry", "inlined", "kernel", "warm"]

#: For mypy, a kernel has the signature of its Python source.
Function = TypeVar("Function", bound=Callable[..., Any])

#: Largest number of cache folders (one per digest of the sources).
MAX_FOLDERS = 4
#: Largest number of folders for users' own kernels in each cache folder (one per digest of a module's sources).
MAX_OWN_FOLDERS = 32
#: The environment variable with the cache folder that a parent process chose. A process that reads the variable removes it.
FOLDER_VARIABLE = "VINDIBOT_KERNEL_CACHE"
#: The pattern of the names of our cache folders. Folders with other names are never removed.
_OURS = re.compile(r"kernels-[0-9a-f]{16}")
#: The file in a cache folder that lists the entries compiled into it.
LIST = "compiled.txt"


class KernelError(Exception):
    """A kernel cannot be compiled. The message has the kernel's name, file and line, and the error."""


@dataclass(frozen=True)
class _Entry:
    """An entry kernel with its one signature and the folder of its machine code.

    `modules` holds, by name, the user's own modules that numba looks up while it loads the machine code.
    """

    dispatcher: Any
    signature: Any
    folder: Path
    modules: Mapping[str, ModuleType]

    @property
    def name(self) -> str:
        """The names of the module and the function, with a dot between them."""
        return f"{self.dispatcher.py_func.__module__}.{self.dispatcher.py_func.__qualname__}"

    def compile(self) -> None:
        """Load the machine code, or compile it."""
        hidden = {name: sys.modules.get(name) for name in self.modules}
        sys.modules.update(self.modules)  # another bot's modules may have these names by now
        try:
            self.dispatcher.compile(self.signature)
        finally:
            for name, module in hidden.items():
                if module is None:
                    del sys.modules[name]
                else:
                    sys.modules[name] = module


_entries: list[_Entry] = []
_warm = False


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _choose_folder() -> Path:
    tools = f"{sys.version} {numba.__version__} {np.__version__} {sources.digest()}"
    name = f"kernels-{hashlib.sha256(tools.encode()).hexdigest()[:16]}"
    inherited = os.environ.pop(FOLDER_VARIABLE, None)
    # A parent with other sources has another folder.
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
            f"the kernel cache {refused} cannot be written, so kernels are compiled for this run only, into {folder}; "
            "set NUMBA_CACHE_DIR to a writable folder",
            RuntimeWarning,
            stacklevel=2,
        )
    return folder


_folder = _choose_folder()
numba.config.CACHE_DIR = str(_folder)  # type: ignore[attr-defined]  # made at run time
if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    np.seterr(over="ignore")  # integers wrap around, like in compiled code


def cache_folder() -> Path:
    """Return the cache folder with the machine code that belongs to the present sources."""
    return _folder


def kernel(function: Function) -> Function:
    """Declare a helper that only other kernels call (a decorator). numba compiles it as a part of these kernels."""
    return cast("Function", numba.njit(error_model="numpy", nogil=True)(_with_own_name(function)))


def inlined(function: Function) -> Function:
    """Declare a helper as `kernel` does (a decorator), and inline it at every call.

    Only the few helpers that a loop calls millions of times a second need this.
    """
    return cast("Function", numba.njit(error_model="numpy", nogil=True, forceinline=True)(_with_own_name(function)))


def entry(signature: Any) -> Callable[[Function], Function]:
    """Return a decorator for a kernel that Python calls.

    `warm` compiles the kernel for this one signature, and caches its machine code on disk.
    """

    def decorate(function: Function) -> Function:
        own = own_sources(function)
        folder = _folder / f"own-{digest_of(own)}" if own else _folder
        numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]  # njit reads it
        try:
            dispatcher = numba.njit(error_model="numpy", nogil=True, cache=True)(_with_own_name(function))
        finally:
            numba.config.CACHE_DIR = str(_folder)  # type: ignore[attr-defined]
        modules = {name: sys.modules[name] for name in own if name in sys.modules}
        _entries.append(_Entry(dispatcher, signature, folder, modules))
        return cast("Function", dispatcher)

    return decorate


def entries() -> list[tuple[Any, Any]]:
    """Return all entry kernels that have been imported so far, with their signatures, in the order of their declaration."""
    return [(entry.dispatcher, entry.signature) for entry in _entries]


def _with_own_name(function: Function) -> Function:
    """Return the same function. If it is from one of the user's own files, add a digest of its sources to its name.

    numba links loaded machine code by the names of functions, and two bots may have helpers of the same name.
    """
    if own := own_sources(function):
        function.__qualname__ += f"_{digest_of(own)[:8]}"
    return function


# ---- The cache ----


def _jit_is_off() -> bool:
    """Return whether kernels run as plain Python (NUMBA_DISABLE_JIT=1)."""
    return bool(getattr(numba.config, "DISABLE_JIT", 0))


def _names(folder: Path) -> set[str]:
    """Return the names of the compiled functions of this process whose cache is in `folder`."""
    return {entry.name for entry in _entries if entry.folder == folder}


def _compiled(folder: Path) -> set[str]:
    """Return the entries that are already compiled, from the list in their folder."""
    try:
        return set((folder / LIST).read_text("utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return set()


def _note_compiled(folder: Path) -> None:
    """Add our entries to the list of a folder. A damaged list costs only time: entries that it lacks are looked up."""
    with contextlib.suppress(OSError):
        (folder / LIST).write_text("\n".join(sorted(_compiled(folder) | _names(folder))) + "\n", "utf-8")


def _folders() -> list[Path]:
    """Return the folders of all entries. The folder of the built-in entries comes first."""
    return list(dict.fromkeys([_folder, *(entry.folder for entry in _entries)]))


def cached() -> bool:
    """Return whether the cache holds all entries imported so far.

    If it does, `warm` takes about a second. If not, `warm` may take minutes.
    """
    return _jit_is_off() or all(_names(folder) <= _compiled(folder) for folder in _folders())


def warm(progress: Callable[[int, int, str], None] | None = None) -> None:
    """Load or compile every entry kernel imported so far, and forbid compilation from then on.

    The first process compiles under a file lock, and other processes wait for its result. `progress` is called with (number done,
    total number, name of the next kernel). Unreadable cache files are removed and written again. Raise `KernelError` if a kernel
    cannot be compiled.
    """
    global _warm
    if _jit_is_off():
        return
    _writable(_folder)  # the folder may have been removed since the start
    if cached():
        _load_or_compile(progress)
    else:
        with FileLock(_folder.with_suffix(".lock")):
            _load_or_compile(progress)
            for folder in _folders():
                _note_compiled(folder)
    for entry in _entries:
        entry.dispatcher.disable_compile()
    if not _warm:
        _warm = True
        _remove_old_folders()


def _without_blas() -> None:
    """Load numba's array functions without SciPy.

    If SciPy is installed, numba looks for BLAS in it. This takes a quarter of a second of each start. Only ``np.convolve`` and
    ``np.correlate`` of floats use BLAS. With BLAS, their results depend on the installed packages.
    """
    blas = "scipy.linalg"
    if blas not in sys.modules:
        sys.modules[blas] = cast("ModuleType", None)  # an import raises ImportError
        try:
            importlib.import_module("numba.np.arraymath")
        finally:
            del sys.modules[blas]


def _load_or_compile(progress: Callable[[int, int, str], None] | None) -> None:
    _without_blas()
    for done, entry in enumerate(_entries):
        if progress is not None:
            progress(done, len(_entries), entry.dispatcher.py_func.__name__)
        if not entry.dispatcher.signatures:
            _load_or_repair(entry)
    if progress is not None:
        progress(len(_entries), len(_entries), "")


def _load_or_repair(entry: _Entry) -> None:
    """Load or compile one kernel. If this fails, remove the cache files of only this kernel, and compile it again."""
    try:
        entry.compile()
        return
    except Exception as problem:  # a damaged cache file or a wrong kernel makes numba raise any error
        first = problem
    function = entry.dispatcher.py_func
    try:
        cache = entry.dispatcher._cache  # noqa: SLF001  # numba offers no other way
        Path(cache.cache_path).mkdir(parents=True, exist_ok=True)
        cache.flush()
        entry.compile()
    except Exception as problem:
        where = f"{function.__code__.co_filename}, line {function.__code__.co_firstlineno}"
        message = f"the kernel {function.__name__} ({where}) cannot be compiled: {type(problem).__name__}: {problem}"
        raise KernelError(message) from problem
    warnings.warn(
        f"the kernel cache {entry.folder} could not be read ({type(first).__name__}); compiling {function.__name__} again",
        RuntimeWarning,
        stacklevel=4,
    )


def _remove_old_folders() -> None:
    """Remove all cache folders except those used last.

    The modification time of a folder is the time of its last use.
    """
    with contextlib.suppress(OSError):  # another process removes them at the same time, or another user owns them
        for folder in _folders():
            os.utime(folder)
        ours = [path for path in _folder.parent.iterdir() if _OURS.fullmatch(path.name)]
        for old in [*_oldest(ours, MAX_FOLDERS), *_oldest(_folder.glob("own-*"), MAX_OWN_FOLDERS)]:
            shutil.rmtree(old, ignore_errors=True)
            old.with_suffix(".lock").unlink(missing_ok=True)


def _oldest(paths: Iterable[Path], keep: int) -> list[Path]:
    """Return the folders among `paths`, except the `keep` folders that were used last."""
    return sorted((path for path in paths if path.is_dir()), key=lambda path: path.stat().st_mtime, reverse=True)[keep:]
