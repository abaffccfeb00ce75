"""The imports of a forker: our modules, the modules of traits, and the compiled kernels. So each new child has them at once.

Only forkers use this module. An error in a module does not end the forker. Each child repeats the import, gets the same error and
reports it. Text that the modules print is dropped, because the children or the owner import the modules too.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
from collections.abc import Iterable, Iterator, Sequence

from vindibot.base.system import open_files

#: The file descriptors that imported modules have opened. Children inherit them.
descriptors: set[int] = set()

_imported: set[tuple[str, ...]] = set()  # modules, each with its folders


def use_cache(folder: str) -> None:
    """Use the compiled kernels in `folder`. This must be the first import of kernels."""
    os.environ["VINDIBOT_KERNEL_CACHE"] = folder  # the import removes it
    with _silently():
        import sim.kernels  # noqa: F401


def import_modules(modules: Iterable[str], folders: Sequence[str] = ()) -> bool:
    """Import modules, and return whether any of them was not imported before. The modules may be in `folders`."""
    fresh = [module for module in modules if (module, *folders) not in _imported]
    if not fresh:
        return False
    _imported.update((module, *folders) for module in fresh)
    from behaviours.registry import load_module

    with _silently():
        if folders:
            from vindibot.config.bots import make_importable

            make_importable(folders)
        for module in fresh:
            with contextlib.suppress(Exception):
                load_module(module)
    return True


def are_compiled() -> bool:
    """Return whether the kernels of all imported modules are in the cache."""
    from sim import kernels

    return kernels.cached()


def load_kernels() -> None:
    """Load the compiled kernels of all imported modules, and keep all objects out of the garbage collection.

    Otherwise a child's garbage collector would visit these objects, and so copy the memory that it shares with its forker.
    """
    with _silently():
        from behaviours.base import View
        from behaviours.classic.mine import MineFinder
        from sim import kernels
        from sim.generator import generate

        kernels.warm()
        MineFinder().vote(View(generate(1).new_game(), 0))  # the first call of a kernel imports modules
    gc.collect()
    gc.freeze()


@contextlib.contextmanager
def _silently() -> Iterator[None]:
    """Drop errors and printed text of the block, and note the file descriptors that it opens."""
    before = open_files()
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
    descriptors.update(open_files() - before)
