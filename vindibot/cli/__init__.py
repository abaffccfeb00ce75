"""The commands of the command line, each in a file with the name of the command."""
