"""The command line: one file per command, named like the command."""
