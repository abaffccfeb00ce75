"""A bot in plain Python: `python3 bot.py SERVER KEY [GAMES]`. It needs Python 3.8 or later, and no package.

It goes to the nearest mine that it does not own, and drinks beer when its life is low. Change `choose`.
It plays game after game, for a whole league, until Ctrl-C ends it. With GAMES, it plays only so many games.
"""

import contextlib
import http.client
import itertools
import json
import math
import sys
import time
import urllib.parse
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


class RefusedError(Exception):
    """The server refuses a request. The text of the error is its answer."""


def post(url, form, seconds=math.inf):
    """Send a form, and return the answer. If the server cannot be reached or is busy, say so, and try again for some seconds."""
    parts, start, printed = urllib.parse.urlsplit(url), time.monotonic(), -math.inf
    while True:
        try:
            status, text = send(parts, urllib.parse.urlencode(form))
            if status == 200:
                return json.loads(text)
            if status != 429 and status < 500:
                raise RefusedError(text)
            problem = text or f"status {status}"
        except (OSError, http.client.HTTPException, ValueError) as error:
            problem = error
        now = time.monotonic()
        if now > start + seconds:
            raise RefusedError(f"no answer: {problem}")
        if now >= printed + 30:
            print(f"{parts.scheme}://{parts.netloc} does not answer: {problem}. Trying again.", flush=True)
            printed = now
        time.sleep(0.5)


def send(parts, body):
    """Send one request, and return the status and the text of the answer. A game may begin much later than the request."""
    connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = connect(parts.netloc, timeout=5)
    try:
        connection.connect()
        connection.sock.settimeout(None)
        connection.request("POST", parts.path, body, {"Content-Type": "application/x-www-form-urlencoded"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def play(server, key):
    """Play one game. If the server ends the game for us, for example because it has started anew, return as well."""
    try:
        state = post(server + "/api/arena", {"key": key})
    except RefusedError as problem:
        sys.exit(f"the server says: {problem}" + (": check your slip" if "Key not found" in str(problem) else ""))
    print("the game:", state["viewUrl"], flush=True)
    try:
        while not state["game"]["finished"]:
            state = post(state["playUrl"], {"dir": choose(state), "turn": state["game"]["turn"]}, 20)
    except RefusedError as problem:
        print(f"this game is over for us: {problem}", flush=True)


def main(server, key, games=None):
    """Play on a server, whose address may lack `http://`."""
    if "://" not in server:
        server = "http://" + server
    print(f"asking {server} for a game", flush=True)
    for _ in itertools.count() if games is None else range(int(games)):
        play(server.rstrip("/"), key)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: python3 bot.py SERVER KEY [GAMES]")
    with contextlib.suppress(KeyboardInterrupt):
        main(*sys.argv[1:])
