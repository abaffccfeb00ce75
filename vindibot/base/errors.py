"""Errors that are meant for people: one clear message, and the exit code of a command that ends with it."""

from __future__ import annotations


class VindibotError(Exception):
    """Something went wrong that the user can understand: the message says what, where, and what to do about it.

    The command line prints the message, without a traceback, and exits with `exit_code`. A message never holds a key or
    a token.
    """

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.exit_code)


class UsageError(VindibotError):
    """The command, a configuration or a bot file asks for something that cannot be: exit code 2."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message, exit_code)
