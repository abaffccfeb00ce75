"""A trait that makes mistakes."""

from __future__ import annotations

import ctypes
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np

from behaviours import Behaviour, View, Votes


class Mistaken(Behaviour):
    """Makes a mistake on each turn. Some mistakes harm nobody, and it votes after them."""

    mistake: str = "raise"

    def vote(self, view: View) -> Votes:
        match self.mistake:
            case "raise":
                raise ValueError("a mistake")
            case "nan":
                return [math.nan] * 5
            case "hang":
                while True:
                    pass
            case "hang in compiled code":
                ctypes.PyDLL(None).sleep(3600)  # it holds the lock of the interpreter
            case "hang without signals":
                ignore_signals()
                ctypes.PyDLL(None).sleep(3600)
            case "exit":
                os._exit(3)
            case "leave":
                sys.exit(3)
            case "crash":
                ctypes.string_at(0)
            case "memory":
                bytearray(1 << 31)
            case "recursion":
                self.vote(view)
            case "print":
                print("x" * (1 << 22))
            case "child":
                subprocess.Popen(["sleep", "3600"])
            case "child in a session of its own":
                subprocess.Popen(["sleep", "3600"], start_new_session=True)
            case "thread":
                threading.Thread(target=time.sleep, args=(3600,)).start()
            case "signals":
                ignore_signals()
            case "folder":
                os.chdir("/")
            case "random":
                random.seed(1)
                np.random.seed(1)  # noqa: NPY002
        return 1


def ignore_signals() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
