"""vindibot: write, run, watch, compare and improve bots for Vindinium."""

import sim as _sim  # noqa: F401 - it says what to do if all of this lies in a zip file

__version__ = "0.1.0"
