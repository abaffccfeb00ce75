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

The kernels of any other module (a trait of a user's own) are kept in a folder of their own inside of that folder. Its name is
a digest of the module's file and of the files of the user's that it imports: a change in one of them compiles these kernels
again, and no others. Two modules of one name, of two bots, do not disturb each other.

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
from sim.ownsources import own_sources, state

__all__ = ["KernelError", "cache_folder", "entry", "inlined", "kernel", "warm"]

#: A function as its author wrote it: to mypy, a kernel has the signature of its Python source.
Function = TypeVar("Function", bound=Callable[..., Any])

#: How many cache folders (one for each state of the sources) are kept.
KEPT_FOLDERS = 4
#: How many folders of users' own kernels (one for each state of a module's sources) are kept in each of them.
KEPT_OWN_FOLDERS = 32
#: Tells a child process which folder its parent settled on; a process that has read it passes it on to nobody.
FOLDER_VARIABLE = "VINDIBOT_KERNEL_CACHE"
#: What our cache folders are called. A folder of somebody else that is called nearly so must not be removed.
_OURS = re.compile(r"kernels-[0-9a-f]{16}")
#: The file in a cache folder that lists the entries compiled into it.
LIST = "compiled.txt"


class KernelError(Exception):
    """A kernel that cannot be compiled. The message names it, and says where it is declared and what is wrong."""


@dataclass(frozen=True)
class _Entry:
    """An entry kernel with its one signature and the folder of its machine code. `modules` are those of the user's own, by
    name, that numba looks up while it loads that code."""

    dispatcher: Any
    signature: Any
    folder: Path
    modules: Mapping[str, ModuleType]

    @property
    def name(self) -> str:
        """The module and the name of the function."""
        return f"{self.dispatcher.py_func.__module__}.{self.dispatcher.py_func.__qualname__}"

    def compile(self) -> None:
        """Load the machine code, or make it."""
        hidden = {name: sys.modules.get(name) for name in self.modules}
        sys.modules.update(self.modules)  # another bot's modules may have these names at present
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
    inherited = os.environ.pop(FOLDER_VARIABLE, None)
    # Only a parent with the same sources may choose for us.
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
    return folder


_folder = _choose_folder()
numba.config.CACHE_DIR = str(_folder)  # type: ignore[attr-defined]  # made at run time
if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    np.seterr(over="ignore")  # integers wrap around, as they do in compiled code


def cache_folder() -> Path:
    """Where the machine code of this state of the sources is kept."""
    return _folder


def kernel(function: Function) -> Function:
    """Compile a helper that only kernels call."""
    return cast("Function", numba.njit(error_model="numpy", nogil=True)(_named_apart(function)))


def inlined(function: Function) -> Function:
    """Like `kernel`, and written out wherever it is called: for the few that a loop calls millions of times a second."""
    return cast("Function", numba.njit(error_model="numpy", nogil=True, forceinline=True)(_named_apart(function)))


def entry(signature: Any) -> Callable[[Function], Function]:
    """Compile a kernel that Python calls, with this one `signature`, kept on disk between runs."""

    def decorate(function: Function) -> Function:
        own = own_sources(function)
        folder = _folder / f"own-{state(own)}" if own else _folder
        numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]  # njit reads it
        try:
            dispatcher = numba.njit(error_model="numpy", nogil=True, cache=True)(_named_apart(function))
        finally:
            numba.config.CACHE_DIR = str(_folder)  # type: ignore[attr-defined]
        modules = {name: sys.modules[name] for name in own if name in sys.modules}
        _entries.append(_Entry(dispatcher, signature, folder, modules))
        return cast("Function", dispatcher)

    return decorate


def entries() -> list[tuple[Any, Any]]:
    """All entry kernels imported so far with their signatures, in the order of their declaration."""
    return [(entry.dispatcher, entry.signature) for entry in _entries]


def _named_apart(function: Function) -> Function:
    """The function; the name of one of a user's own is changed so that it differs between the states of its sources.

    Machine code is linked by these names when it is loaded: two bots may both have a helper of one name.
    """
    if own := own_sources(function):
        function.__qualname__ += f"_{state(own)[:8]}"
    return function


# ---- The cache ----


def _jit_is_off() -> bool:
    """Whether kernels run as plain Python (NUMBA_DISABLE_JIT=1), to find what compiled code hides."""
    return bool(getattr(numba.config, "DISABLE_JIT", 0))


def _names(folder: Path) -> set[str]:
    """The entries of a folder that this process has imported."""
    return {entry.name for entry in _entries if entry.folder == folder}


def _compiled(folder: Path) -> set[str]:
    """The entries that some process has compiled into a folder, as its list says."""
    try:
        return set((folder / LIST).read_text("utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return set()


def _note_compiled(folder: Path) -> None:
    """Add our entries to the list; a list that is cut off has names missing, and costs a look at the cache."""
    with contextlib.suppress(OSError):
        (folder / LIST).write_text("\n".join(sorted(_compiled(folder) | _names(folder))) + "\n", "utf-8")


def _folders() -> list[Path]:
    """The folders of all entries, that of the built-in ones first."""
    return list(dict.fromkeys([_folder, *(entry.folder for entry in _entries)]))


def cached() -> bool:
    """Whether `warm` will find what it needs on disk, so that it takes a moment and not a minute."""
    return _jit_is_off() or all(_names(folder) <= _compiled(folder) for folder in _folders())


def warm(progress: Callable[[int, int, str], None] | None = None) -> None:
    """Load or compile every entry kernel that has been imported, and forbid compilation from then on.

    The first process compiles under a file lock while others wait for its result. `progress` is told
    (done, total, name of the kernel that comes next). Unreadable cache files are removed and made again.
    """
    global _warm
    if _jit_is_off():
        return
    _writable(_folder)  # somebody may have removed it since we started
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


def _load_or_compile(progress: Callable[[int, int, str], None] | None) -> None:
    for done, entry in enumerate(_entries):
        if progress is not None:
            progress(done, len(_entries), entry.dispatcher.py_func.__name__)
        if not entry.dispatcher.signatures:
            _load_or_repair(entry)
    if progress is not None:
        progress(len(_entries), len(_entries), "")


def _load_or_repair(entry: _Entry) -> None:
    """Have one kernel ready. What the cache has of it is made anew if it cannot be read; the rest of the cache is left alone."""
    try:
        entry.compile()
        return
    except Exception as problem:  # whatever a damaged index or object file makes numba raise, or the kernel itself
        first = problem
    try:
        cache = entry.dispatcher._cache  # noqa: SLF001  # numba offers no other way
        Path(cache.cache_path).mkdir(parents=True, exist_ok=True)
        cache.flush()
        entry.compile()
    except Exception as problem:
        code = entry.dispatcher.py_func.__code__
        where = f"{code.co_filename}, line {code.co_firstlineno}"
        name = entry.dispatcher.py_func.__name__
        raise KernelError(f"the kernel {name} ({where}) cannot be compiled: {type(problem).__name__}: {problem}") from problem
    warnings.warn(
        f"the kernel cache {entry.folder} could not be read ({type(first).__name__}); compiling "
        f"{entry.dispatcher.py_func.__name__} again",
        RuntimeWarning,
        stacklevel=4,
    )


def _remove_old_folders() -> None:
    """Keep the folders used last; the time of use is the modification time of the folder."""
    with contextlib.suppress(OSError):  # another process is tidying up, or the folder is not ours to clean
        for folder in _folders():
            os.utime(folder)
        for old in _lately_used(path for path in _folder.parent.iterdir() if _OURS.fullmatch(path.name))[KEPT_FOLDERS:]:
            shutil.rmtree(old, ignore_errors=True)
            old.with_suffix(".lock").unlink(missing_ok=True)
        for old in _lately_used(_folder.glob("own-*"))[KEPT_OWN_FOLDERS:]:
            shutil.rmtree(old, ignore_errors=True)


def _lately_used(paths: Iterable[Path]) -> list[Path]:
    """Those of the paths that are folders, the one used last first."""
    return sorted((path for path in paths if path.is_dir()), key=lambda path: path.stat().st_mtime, reverse=True)
