"""The command line. Each command has a file of the same name."""
