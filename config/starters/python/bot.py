"""A bot in plain Python: `python3 bot.py SERVER KEY [GAMES]`. It needs Python 3.8 or later, and no package.

It goes to the nearest mine that it does not own, and drinks beer when its life is low. Change `choose`.
"""

import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import deque

STEPS = {"North": (-1, 0), "South": (1, 0), "East": (0, 1), "West": (0, -1)}
#: Below this life, the bot goes to a tavern.
THIRSTY = 50


def choose(state):
    """Return our move: Stay, North, South, East or West. `state` is the answer of the server."""
    hero, board = state["hero"], state["game"]["board"]
    if hero["life"] < THIRSTY and hero["gold"] >= 2:
        return first_step(board, hero, lambda tile: tile == "[]")
    return first_step(board, hero, lambda tile: tile[0] == "$" and tile[1] != str(hero["id"]))


def first_step(board, hero, is_goal):
    """Return the first move of a shortest way to a tile for which `is_goal` is true, or Stay if there is no way."""
    size, tiles = board["size"], board["tiles"]
    start = (hero["pos"]["x"], hero["pos"]["y"])  # x is the row, y the column
    waiting, seen = deque([(start, "Stay")]), {start}
    while waiting:
        (row, column), first = waiting.popleft()
        for move, (down, right) in STEPS.items():
            there = (row + down, column + right)
            if not (0 <= there[0] < size and 0 <= there[1] < size) or there in seen:
                continue
            seen.add(there)
            place = 2 * (there[0] * size + there[1])
            tile = tiles[place : place + 2]
            step = move if first == "Stay" else first
            if is_goal(tile):
                return step
            if tile == "  ":
                waiting.append((there, step))
    return "Stay"


def post(url, form, seconds=60):
    """Send a form, and return the answer. If the server cannot be reached or is busy, try again for some seconds."""
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, urllib.parse.urlencode(form).encode()) as answer:  # noqa: S310
                return json.load(answer)
        except urllib.error.HTTPError as problem:
            if problem.code != 429 and problem.code < 500:
                sys.exit(f"the server says: {problem.read().decode()}")
        except OSError:
            pass
        if time.monotonic() > end:
            sys.exit(f"the server does not answer: {url}")
        time.sleep(0.5)


def play(server, key):
    """Play one game."""
    state = post(server + "/api/arena", {"key": key}, 24 * 3600)
    print("the game:", state["viewUrl"], flush=True)
    while not state["game"]["finished"]:
        state = post(state["playUrl"], {"dir": choose(state), "turn": state["game"]["turn"]}, 20)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: python3 bot.py SERVER KEY [GAMES]")
    for _ in range(int(sys.argv[3]) if len(sys.argv) == 4 else 1):
        play(sys.argv[1].rstrip("/"), sys.argv[2])
