"""Checks of programs before a tournament: short games that show what a program cannot do yet."""
