"""vindibot: write, run, watch, compare and improve bots for Vindinium."""

from importlib import import_module
from pathlib import Path

__version__ = "0.1.0"

if not Path(__file__).is_file():
    import_module("sim")  # which says what to do in a zip file; elsewhere the current folder may have another one
