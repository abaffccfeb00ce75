"""A bot that speaks the line protocol, and misbehaves in the way that its first argument says. It stays otherwise."""

import os
import subprocess
import sys
import time

mode, *more = sys.argv[1:] or ["good"]
answered = 0


def read() -> str:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return line.rstrip("\n")


def answer(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def misbehave() -> None:
    """Before the fourth answer."""
    if mode == "dies":
        print("some reason", file=sys.stderr)
        os._exit(7)
    elif mode == "stalls":
        time.sleep(3600)
    elif mode == "rubbish":
        answer("HELLO you")
    elif mode == "floods":
        while True:
            sys.stdout.write("x" * 65536)
    elif mode == "chatters":
        answer("WAIT one\nWAIT two\n" * 1000)
    elif mode == "complains":
        print("began", "y" * 3_000_000, "ended", sep="\n", file=sys.stderr)
    elif mode == "hungry":
        hoard = [bytearray(1 << 20) for _ in range(4096)]
        print(len(hoard))
    elif mode == "forks":
        for session in (False, True):
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=session)
            with open(more[0], "a") as file:
                file.write(f"{child.pid}\n")
        if os.fork() == 0:  # a daemon: nobody's child, and of a session of its own
            os.setsid()
            if os.fork() == 0:
                with open(more[0], "a") as file:
                    file.write(f"{os.getpid()}\n")
                time.sleep(3600)
            os._exit(0)


if mode == "silent":
    time.sleep(3600)
size = int(read())
board = [read() for _ in range(size)]
me = int(read())
others = 3 if mode == "expert" else 0
told: list[str] = []
while True:
    if mode == "expert" and answered:
        told += [read() for _ in range(others)]
    count = int(read())
    entities = [read().split() for _ in range(count)]
    heroes = [entity for entity in entities if entity[0] == "HERO"]
    mines = [entity for entity in entities if entity[0] == "MINE" and int(entity[1]) != me]
    if answered == 3:
        misbehave()
    if mode == "expert":
        answer("WAIT EXPERT_INPUT")
        if answered == 5:
            with open(more[0], "w") as file:
                file.write("\n".join(told))
    elif mode == "miner" and mines and int(heroes[me][4]) > 25:
        row, column = int(heroes[me][3]), int(heroes[me][2])
        nearest = min(mines, key=lambda mine: abs(int(mine[2]) - column) + abs(int(mine[3]) - row))
        answer(f"MOVE {nearest[2]} {nearest[3]}")
    else:
        answer("wait; nothing to do")
    answered += 1
