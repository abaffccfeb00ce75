"""Kernels (functions that numba compiles): decorators that declare them, the cache of their machine code, and warming up.

The decorators:

``@kernel``
    a helper that only other kernels call. It is linked into these kernels and has no cache of its own. ``@inlined`` declares a
    helper of this kind that is inlined at every call.
``@entry(signature)``
    a function that Python calls. It has exactly one signature, is cached on disk, and is compiled or loaded by `warm`.

`sim.cache.machine_code` chooses the cache folder. Its name is a digest of all sources, so changed sources have another folder.

The kernels of any other module (a user's own trait) have a folder of their own inside the cache folder. The name of this folder
is a digest of the module's file and of the user's files that the module imports. After a change in one of these files, only the
kernels of this module are compiled again. Two bots may have modules of the same name.

After `warm`, no entry can be compiled. An argument of a new type (for example, a read-only array) raises an error that names the
kernel. Without this rule, the compilation would pause a running game for seconds.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from filelock import FileLock, Timeout

from sim.cache.machine_code import KernelCache, KernelFile, choose_folder, remove_old_folders, writable
from sim.cache.sources import digest_of, own_sources

__all__ = ["KernelError", "cache_folder", "entry", "inlined", "kernel", "warm", "warm_module"]

#: For mypy, a kernel has the signature of its Python source.
Function = TypeVar("Function", bound=Callable[..., Any])


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
    def file(self) -> KernelFile:
        """The file with the machine code."""
        return cast("KernelFile", self.dispatcher._cache.file)  # noqa: SLF001  # numba offers no other way

    def is_ready(self) -> bool:
        """Return whether the machine code is loaded, or its file is intact."""
        return bool(self.dispatcher.signatures) or self.file.is_intact()

    @property
    def lock(self) -> Path:
        """The file that a process locks while it compiles the kernels of this kernel's module.

        They have helpers in common, so it is less work for one process than for several.
        """
        return self.folder / f"{self.dispatcher.py_func.__module__}.lock"

    def load_or_compile(self) -> None:
        """Load the machine code. If this fails, compile the kernel. Raises `KernelError`."""
        try:
            self._compile()
            return
        except Exception:  # a wrong kernel makes numba raise any error, and so does a file that does not fit
            self.file.flush()
        function = self.dispatcher.py_func
        try:
            self._compile()
        except Exception as problem:
            where = f"{function.__code__.co_filename}, line {function.__code__.co_firstlineno}"
            message = f"the kernel {function.__name__} ({where}) cannot be compiled: {type(problem).__name__}: {problem}"
            raise KernelError(message) from problem

    def _compile(self) -> None:
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


#: Seconds to wait for the lock of each module whose kernels other processes compile.
LOCK_POLL = 0.1

_entries: list[_Entry] = []
_warm = False


_cache = choose_folder()
_folder = _cache.path
numba.config.CACHE_DIR = str(_folder)  # type: ignore[attr-defined]  # for functions that users cache with `numba.njit`
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
        dispatcher = numba.njit(error_model="numpy", nogil=True)(_with_own_name(function))
        if not _jit_is_off():
            setattr(dispatcher, "_cache", KernelCache(function, signature, folder))  # noqa: B010  # numba offers no other way
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


def _folders() -> list[Path]:
    """Return the folders of all entries. The folder of the built-in entries comes first."""
    return list(dict.fromkeys([_folder, *(entry.folder for entry in _entries)]))


def cached() -> bool:
    """Return whether the cache holds intact machine code of all entries imported so far.

    If it does, `warm` takes about a second. If not, `warm` may take minutes.
    """
    return _jit_is_off() or sum(not entry.is_ready() for entry in _entries) == 0  # asks all, so that all damaged files are found


def warm(progress: Callable[[int, int, str], None] | None = None) -> None:
    """Load or compile every entry kernel imported so far, and forbid compilation from then on.

    All processes that do this at the same time share the work: the kernels of a module are compiled by one of them, under a file
    lock. `progress` is called with (number done, total number, name of the next kernel). Damaged cache files are written again,
    with one warning. Raise `KernelError` if a kernel cannot be compiled.
    """
    global _warm
    if _jit_is_off():
        return
    _without_blas()
    complete = cached()
    _warn_of_damage()
    if not complete:
        _compile_together(progress, _entries)
    _load_or_compile(progress, _entries)
    if not complete:
        _warn_if_not_stored()
    importlib.import_module("numpy.ma")  # numba's first call with an array would import it, in the middle of a game
    for entry in _entries:
        entry.dispatcher.disable_compile()
    if not _warm:
        _warm = True
        with contextlib.suppress(OSError):
            for folder in _folders():
                os.utime(folder)
        remove_old_folders(_folder)


def warm_module(name: str, progress: Callable[[int, int, str], None] | None = None) -> None:
    """Load or compile the entry kernels of one module, as `warm` does for all. `warm` may be called later."""
    if not _jit_is_off():
        _without_blas()
        entries = [entry for entry in _entries if entry.dispatcher.__module__ == name]
        _compile_together(progress, entries)
        _load_or_compile(None, entries)


def _warn_of_damage() -> None:
    damaged = [entry.file for entry in _entries if entry.file.damaged]
    if damaged:
        kernels = "1 kernel is" if len(damaged) == 1 else f"{len(damaged)} kernels are"
        _tell(f"the kernel cache {_folder} is damaged: {kernels} compiled again")
    for file in damaged:
        file.damaged = False  # so that there is one warning


def _warn_if_not_stored() -> None:
    refused = next((entry.file.refused for entry in _entries if entry.file.refused), "")
    if reason := _cache.temporary or (refused and f"the kernel cache {_folder} cannot be written ({refused})"):
        _tell(f"{reason}, so kernels are compiled for this run only; set NUMBA_CACHE_DIR to a folder that you can write to")


def _tell(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=4)


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


def _compile_together(progress: Callable[[int, int, str], None] | None, entries: Sequence[_Entry]) -> None:
    """Compile the kernels of each module that no other process compiles. Then wait until the others have compiled theirs.

    Do nothing if the cache cannot be written.
    """
    missing = [entry for entry in entries if not entry.is_ready()] if writable(_folder) else []
    waiting = {path: [entry for entry in missing if entry.lock == path] for path in {entry.lock: None for entry in missing}}
    timeout = 0.0
    while waiting:
        for path, group in list(waiting.items()):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with FileLock(path).acquire(timeout=timeout):
                    for entry in group:
                        _tell_progress(progress, entry)
                        if not entry.is_ready():
                            entry.load_or_compile()
            except Timeout:
                _tell_progress(progress, group[0])
                continue
            except OSError:  # the folder of a user's kernels cannot be written
                pass
            del waiting[path]
        timeout = LOCK_POLL


def _tell_progress(progress: Callable[[int, int, str], None] | None, entry: _Entry) -> None:
    if progress is not None:
        done = sum(bool(item.dispatcher.signatures) or item.file.path.exists() for item in _entries)
        progress(done, len(_entries), entry.dispatcher.py_func.__name__)


def _load_or_compile(progress: Callable[[int, int, str], None] | None, entries: Sequence[_Entry]) -> None:
    for done, entry in enumerate(entries):
        if progress is not None:
            progress(done, len(entries), entry.dispatcher.py_func.__name__)
        if not entry.dispatcher.signatures:
            entry.load_or_compile()
    if progress is not None:
        progress(len(entries), len(entries), "")
