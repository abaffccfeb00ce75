"""The folder of the kernels' machine code, and the files in it.

The name of the folder holds two digests. The first digest covers all source files of ``sim`` and ``behaviours``, the versions of
numba, numpy and Python, and Python's level of optimisation. The second digest covers the processor, and the options of numba that
change machine code. So several machines with different processors can share a home folder.

Each file holds the machine code of one kernel, after a checksum. The checksum covers the name of the file too. If it is wrong,
the file counts as missing: damaged machine code would end the process.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import get_host_cpu_features
from numba.core.serialize import dumps
from platformdirs import user_cache_path

from sim.cache import sources

#: The environment variable with the cache folder that a parent process chose. A process that reads the variable removes it.
FOLDER_VARIABLE = "VINDIBOT_KERNEL_CACHE"
#: Largest number of cache folders for this processor (one per digest of the sources).
MAX_FOLDERS = 4
#: Largest number of folders for users' own kernels in each cache folder (one per digest of a module's sources).
MAX_OWN_FOLDERS = 32
#: The options of numba that change machine code.
_OPTIONS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX", "DISABLE_INTEL_SVML")
_DIGEST_BYTES = 16


# ---- The folder ----


@dataclass(frozen=True)
class CacheFolder:
    """The folder of the kernels' machine code.

    `temporary` is the reason why this folder is only for this run, and is empty for a folder that stays.
    """

    path: Path
    temporary: str = ""


def choose_folder() -> CacheFolder:
    """Return the folder for this process, and create it.

    If the usual folder cannot be written, the result is a temporary folder with links to the files of the usual folder. If no
    folder can be written, the result is the usual folder.
    """
    name = f"kernels-{_sources_digest()}-{_processor_digest()}"
    inherited = os.environ.pop(FOLDER_VARIABLE, None)
    # A parent with other sources has another folder.
    if inherited and Path(inherited).name == name and writable(Path(inherited)):
        return CacheFolder(Path(inherited))
    base = _base()
    if base is not None and writable(base / name):
        return CacheFolder(base / name)
    reason = "the home folder is unknown" if base is None else f"the kernel cache {base / name} cannot be written"
    try:
        scratch = tempfile.mkdtemp(prefix="vindibot-")
    except OSError:
        return CacheFolder((base or Path("/")) / name, reason)
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    folder = Path(scratch, name)
    folder.mkdir()
    usual = (base or Path(scratch, "none")) / name
    for file in _files(usual):
        link = folder / file.relative_to(usual)
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(file)
    return CacheFolder(folder, reason)


def _base() -> Path | None:
    """Return the folder that contains the cache folders, None if it is unknown since the home folder is."""
    if configured := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(configured).absolute()
    try:
        return user_cache_path("vindibot", appauthor=False).absolute()
    except RuntimeError:
        return None


def _files(folder: Path) -> list[Path]:
    """Return the files of machine code in a folder."""
    with suppress(OSError):
        return list(folder.rglob(f"*{KernelFile.SUFFIX}"))
    return []


def _sources_digest() -> str:
    # numba recognises a kernel by its bytecode, which PYTHONOPTIMIZE changes.
    python = f"{sys.version} {sys.flags.optimize}"
    tools = f"{python} {numba.__version__} {llvmlite.__version__} {np.__version__} {sources.digest()}"
    return hashlib.sha256(tools.encode()).hexdigest()[:16]


def _processor_digest() -> str:
    config: Any = numba.config
    name = llvmlite.binding.get_host_cpu_name() if config.CPU_NAME is None else config.CPU_NAME
    features = get_host_cpu_features() if config.CPU_FEATURES is None else config.CPU_FEATURES  # type: ignore[no-untyped-call]
    options = [str(getattr(config, option, "")) for option in _OPTIONS]
    return hashlib.sha256(" ".join([name, features, *options]).encode()).hexdigest()[:8]


def writable(folder: Path) -> bool:
    """Return whether files can be created in a folder. Create the folder if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def remove_old_folders(folder: Path) -> None:
    """Remove the folders for this processor beside `folder`, and the folders of users' kernels in it, except those used last.

    The modification time of a folder is the time of its last use.
    """
    ours = re.compile(rf"kernels-[0-9a-f]{{16}}-{_processor_digest()}")
    with suppress(OSError):  # another process removes them at the same time, or another user owns them
        beside = [path for path in folder.parent.iterdir() if ours.fullmatch(path.name)]
        for old in [*_oldest(beside, MAX_FOLDERS), *_oldest(folder.glob("own-*"), MAX_OWN_FOLDERS)]:
            shutil.rmtree(old, ignore_errors=True)


def _oldest(paths: Iterable[Path], keep: int) -> list[Path]:
    """Return the folders among `paths`, except the `keep` folders that were used last."""
    return sorted((path for path in paths if path.is_dir()), key=lambda path: path.stat().st_mtime, reverse=True)[keep:]


# ---- The files ----


class KernelFile:
    """The file with the machine code of one kernel. numba calls `load`, `save` and `flush`.

    `damaged` is True if the checksum was wrong. `refused` is the reason why the file could not be written, and is empty if it
    could.
    """

    SUFFIX = ".kernel"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = False
        self.refused = ""
        self._content: bytes | None = None
        self._ignored = False

    def is_intact(self) -> bool:
        """Return whether the file exists and has the right checksum. `load` need not read the file again."""
        if self._content is None:
            try:
                data = self.path.read_bytes()
            except FileNotFoundError:
                return False
            except OSError:
                data = b""
            content = data[_DIGEST_BYTES:]
            self.damaged = data[:_DIGEST_BYTES] != self._checksum(content)
            self._content = None if self.damaged else content
        return self._content is not None

    def load(self, key: Any) -> Any:
        """Return the machine code that numba has saved for `key`, None if there is none."""
        if self._ignored or not self.is_intact():
            return None
        content, self._content = self._content, None
        assert content is not None
        saved_key, data = pickle.loads(content)
        return data if saved_key == key else None

    def save(self, key: Any, data: Any) -> None:
        """Write the machine code for `key`. If this fails, set `refused`."""
        content: bytes = dumps((key, data))  # type: ignore[no-untyped-call]
        draft = self.path.with_name(f".{secrets.token_hex(8)}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(self._checksum(content) + content)
            draft.replace(self.path)
        except OSError as problem:
            self.refused = problem.strerror or str(problem)
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    def flush(self) -> None:
        """Ignore the file from now on. It stays until `save` replaces it: perhaps only this process cannot load it."""
        self._content, self._ignored = None, True

    def _checksum(self, content: bytes) -> bytes:
        place = "/".join(self.path.parts[-3:]) if self.path.parent.name.startswith("own-") else "/".join(self.path.parts[-2:])
        return hashlib.blake2b(content, digest_size=_DIGEST_BYTES, key=hashlib.sha256(place.encode()).digest()).digest()


class _Locator(_CacheLocator):
    """The place of a kernel's file. numba asks it only for the folder and for the source of the kernel."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._py_file = function.__code__.co_filename
        self._folder = folder

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return ""  # the name of the folder has the digest of the sources

    def get_disambiguator(self) -> str:
        return ""


class _Format(CompileResultCacheImpl):
    """numba's conversion of machine code to and from data that can be pickled."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function, folder)
        self._filename_base = function.__qualname__


class KernelCache(FunctionCache):
    """numba's cache of one kernel, with a `KernelFile` in `folder`.

    numba's own cache depends on the path and the time of one source file, and has no checksums.
    """

    def __init__(self, function: Callable[..., Any], signature: Any, folder: Path) -> None:
        self._name = repr(function)
        self._py_func = function
        self._arguments = signature.args
        self._impl = _Format(function, folder)
        self._cache_path = str(folder)
        name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "").replace("/", "")
        self.file = KernelFile(folder / f"{name}{KernelFile.SUFFIX}")
        self._cache_file: Any = self.file
        self.enable()  # type: ignore[no-untyped-call]

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        """Return the key of the machine code for a signature or for the types of arguments.

        numba gives the types alone if a kernel is called before it is compiled. The key is the same.
        """
        return super()._index_key(_arguments(signature), codegen)  # type: ignore[no-untyped-call]

    def _save_overload(self, signature: Any, data: Any) -> None:
        """Save the machine code, unless it is for arguments of other types than those of the kernel's one signature."""
        if _arguments(signature) == self._arguments:
            super()._save_overload(signature, data)  # type: ignore[no-untyped-call]


def _arguments(signature: Any) -> Any:
    return getattr(signature, "args", signature)
