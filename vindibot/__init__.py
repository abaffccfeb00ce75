"""vindibot: write, run, watch, compare and improve bots for Vindinium."""

__version__ = "0.1.0"
