"""vindibot: write, run, watch, compare and improve bots for Vindinium."""

from pathlib import Path

__version__ = "0.1.0"

if not Path(__file__).is_file():  # as in `sim`, which is not imported here: the current folder may have another one
    raise ImportError(
        f"{Path(__file__).parents[1]}: vindibot does not run from a zip file, because it reads files beside its modules: "
        "install it with pip, or unpack it"
    )
