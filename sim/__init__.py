"""The simulator: rules, maps, distances. It uses no clock and no network, and its random numbers depend only on a seed."""

from pathlib import Path

if not Path(__file__).is_file():
    raise ImportError(
        f"{Path(__file__).parents[1]}: vindibot does not run from a zip file, because it reads files beside its modules: "
        "install it with pip, or unpack it"
    )
