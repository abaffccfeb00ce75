"""Errors with a message for the user and an exit code for the command."""

from __future__ import annotations


class VindibotError(Exception):
    """An error for the user. The message says what is wrong, where, and what to do.

    The command line prints the message, without a traceback, and exits with `exit_code`. A message never holds a key or a token.
    """

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.exit_code)


class UsageError(VindibotError):
    """An error in the command, a configuration or a bot file. The exit code is 2."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message, exit_code)
