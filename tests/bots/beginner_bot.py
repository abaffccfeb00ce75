"""A program with one mistake of a beginner, which its first argument names. It speaks the line protocol or HTTP.

beginner_bot.py MODE         lines
beginner_bot.py web MODE     HTTP; server and key come from the environment
"""

import json
import os
import select
import sys
import time
import urllib.parse
import urllib.request

web, mode = sys.argv[1] == "web", sys.argv[-1]
out = open(1, "w", buffering=65536, closefd=False)  # noqa: SIM115  # with a buffer, whatever the environment says


def read() -> str:
    if mode == "impatient" and not select.select([0], [], [], 1.0)[0]:
        sys.exit("nothing to read")
    line = b""
    while not line.endswith(b"\n"):  # unbuffered, so that `select` sees all that is left
        sign = os.read(0, 1)
        if not sign:
            if mode == "surprised by the end":
                raise EOFError
            sys.exit(0)
        line += sign
    return line.decode().rstrip("\n")


def play_lines() -> None:
    size = int(read())
    board = [["#"] * 20 for _ in range(20 if mode == "small maps" else size)]
    for row in range(size):
        board[row] = list(read())
    me = int(read())
    if mode == "always the first":
        assert me == 0, "I am hero 0"
    spawn = next((row.index(str(me)), number) for number, row in enumerate(board) if str(me) in row)
    moves = 0
    while True:
        entities = [read().split() for _ in range(int(read()))]
        hero = next(entity for entity in entities if entity[:2] == ["HERO", str(me)])
        mines = [entity for entity in entities if entity[0] == "MINE" and entity[1] != str(me)]
        x, y = int(hero[2]), int(hero[3])
        if mode == "begins at home" and moves == 0:
            assert (x, y) == spawn, "I am not at home"
        if mode == "needs a mine":
            min(mines, key=lambda mine: abs(int(mine[2]) - x) + abs(int(mine[3]) - y))
        answer = {"misspells": "UP", "explains first": f"hero at {x} {y}\nWAIT"}.get(mode, "WAIT")
        if mode == "explains later":
            answer += "\nI wait"
        if mode == "thinks long" and moves == 2:
            time.sleep(2)
        if mode == "no line end":
            out.write(answer)
            out.flush()
        else:
            out.write(answer + "\n")
            if mode != "no flush":
                out.flush()
        moves += 1


def post(url: str, **form: str) -> dict:
    data = urllib.parse.urlencode(form).encode()
    with urllib.request.urlopen(url, data, timeout=1 if mode == "impatient" else 60) as answer:
        return json.load(answer)


def play_web() -> None:
    state = post(os.environ["VINDINIUM_SERVER"] + "/api/arena", key=os.environ["VINDINIUM_KEY"])
    while True:
        text = json.dumps(state)
        if mode == "plain names":
            " ".join(hero["name"] for hero in state["game"]["heroes"]).encode("ascii")
        if mode == "searches the text" and '\\"finished\\":true' in text:
            raise ValueError("a game that is finished and not finished")
        if state["game"]["finished"] and mode != "never ends":
            return
        state = post(state["playUrl"], dir="Up" if mode == "misspells" else "Stay")


play_web() if web else play_lines()
