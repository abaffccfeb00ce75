"""Bundles: a bundle has the files of a bot's folder as one `bytes` object, so that they can be sent to another machine.

A bundle is a zip file with sorted names and fixed times, so that equal files give equal bytes. It is unpacked into a folder whose
name is the sha256 digest of the bundle. So bots with different files never share a folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import stat
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from vindibot.base.errors import UsageError, VindibotError
from vindibot.config.files import short

#: Largest number of files in a bundle, and largest number of bytes of all its files.
MAX_FILES, MAX_BYTES = 2000, 32 << 20
#: Files and folders that do not belong to a bot. Names that begin with a dot do not belong to it either.
LEFT_OUT = {"__pycache__", "node_modules", "results", "recordings"}
#: A file that marks a folder as a virtual environment of Python. Such a folder does not belong to a bot.
ENVIRONMENT = "pyvenv.cfg"
#: Seconds without use after which the folder of an unpacked bundle is removed.
UNUSED_SECONDS = 30 * 86400.0

_TIME = (1980, 1, 1, 0, 0, 0)


class BundleError(VindibotError):
    """A bundle is damaged, unsafe or too large, or cannot be unpacked on this machine."""


def digest(data: bytes) -> str:
    """Return the sha256 digest of a bundle, as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def pack(folder: Path) -> bytes:
    """Return the bundle of a folder and its subfolders, or of a single file.

    Hidden files, caches, results, recordings and virtual environments are left out. A link to a file is packed as this file. A
    link to a folder is left out. Raises `UsageError` if the folder is too large (`MAX_FILES`, `MAX_BYTES`) or cannot be read.
    """
    target, size, count = io.BytesIO(), 0, 0
    alone = folder.is_file()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in [folder] if alone else _files(folder):
            count += 1
            try:
                size += path.stat().st_size
                content = path.read_bytes() if size <= MAX_BYTES else b""
                executable = os.access(path, os.X_OK)
            except OSError as problem:
                raise UsageError(f"{short(path)}: cannot be read: {problem.strerror or problem}") from None
            if count > MAX_FILES or size > MAX_BYTES:
                limits = f"{MAX_FILES} files and {MAX_BYTES >> 20} MB"
                what, help_ = (
                    ("a data file", "use a smaller file") if alone else ("the folder", "put the bot into a folder of its own")
                )
                words = f"more than {limits}, so it cannot travel to other machines: {help_}"
                raise UsageError(f"{short(folder)}, {what} of a bot, has {words}")
            entry = zipfile.ZipInfo(path.name if alone else path.relative_to(folder).as_posix(), _TIME)
            entry.external_attr = (stat.S_IFREG | (0o555 if executable else 0o444)) << 16
            bundle.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files that belong to the bundle of a folder, also from its subfolders, sorted by name."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as problem:
        raise UsageError(f"{short(folder)}: cannot be read: {problem.strerror or problem}") from None
    for path in entries:
        if path.name.startswith(".") or path.name in LEFT_OUT:
            continue
        if path.is_dir():
            if not path.is_symlink() and not (path / ENVIRONMENT).exists():
                yield from _files(path)
        elif path.is_file():
            yield path


def unpack(data: bytes, name: str, cache: Path) -> Path:
    """Return the folder with the files of a bundle: the subfolder `name` of `cache`. Unpack it if necessary.

    `data` is the bundle, `name` its sha256 digest. Raises `BundleError` if the bundle has another digest or is too large, if the
    name of a file leads out of the folder, or if a file cannot be written. After an error, no file of the bundle is left in
    `cache`.
    """
    if digest(data) != name:
        raise BundleError(f"the files of a bot were damaged on their way: their sha256 is not {name}")
    folder = cache / name
    if folder.is_dir():
        with contextlib.suppress(OSError):
            os.utime(folder)
        return folder
    draft = None
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _remove_unused(cache)
        draft = Path(tempfile.mkdtemp(prefix=f".{name[:16]}-", dir=cache))
        _extract(data, draft)
        draft.chmod(0o755)
        with contextlib.suppress(FileExistsError):  # another process was faster
            draft.rename(folder)
    except (OSError, zipfile.BadZipFile) as problem:
        if not folder.is_dir():
            reason = getattr(problem, "strerror", None) or problem
            raise BundleError(f"the files of a bot cannot be unpacked into {cache}: {reason}") from None
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)
    return folder


def _extract(data: bytes, folder: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as bundle:
        entries = bundle.infolist()
        if len(entries) > MAX_FILES or sum(entry.file_size for entry in entries) > MAX_BYTES:
            raise BundleError("the files of a bot are too many or too large")
        for entry in entries:
            path = safe_path(entry.filename, folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            with bundle.open(entry) as source, path.open("xb") as target:
                content = source.read(entry.file_size + 1)  # no more than the stated size, even from a zip bomb
                if len(content) != entry.file_size:
                    raise BundleError(f"the file {entry.filename!r} of a bot has another size than stated")
                target.write(content)
            path.chmod(0o555 if entry.external_attr >> 16 & 0o111 else 0o444)


def safe_path(name: str, folder: Path) -> Path:
    """Return the path in `folder` for the file `name` of a bundle.

    Raises `BundleError` if the name could lead out of the folder, for example an absolute name, or a name with ``..``.
    """
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or name.endswith("/") or ".." in parts or "\\" in name or "\0" in name:
        raise BundleError(f"the file {name!r} of a bot would leave its folder")
    return folder.joinpath(*parts)


def _remove_unused(cache: Path) -> None:
    """Remove the folders in `cache` that have not been used for `UNUSED_SECONDS`."""
    with contextlib.suppress(OSError):
        for folder in cache.iterdir():
            if time.time() - folder.stat().st_mtime > UNUSED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
