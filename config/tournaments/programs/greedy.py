"""A bot that needs nothing but Python: it goes to the nearest mine that is not its own, or to a tavern when it is weak.

python3 greedy.py SERVER KEY
"""

import json
import sys
from collections import deque
from urllib.parse import urlencode
from urllib.request import urlopen

STEPS = {"North": (-1, 0), "South": (1, 0), "East": (0, 1), "West": (0, -1)}
#: Below this life a hero that can pay goes to a tavern.
WEAK, BEER = 50, 2


def post(url, **form):
    with urlopen(url, urlencode(form).encode(), timeout=600) as answer:
        return json.load(answer)


def choose(state):
    """The first step of a shortest way to the nearest tile that we want."""
    hero, board = state["hero"], state["game"]["board"]
    size, text = board["size"], board["tiles"]
    weak = hero["life"] < WEAK and hero["gold"] >= BEER
    start = hero["pos"]["x"], hero["pos"]["y"]  # x is the row
    ahead, seen = deque([(start, "Stay")]), {start}
    while ahead:
        (row, column), first = ahead.popleft()
        for word, (down, right) in STEPS.items():
            place = row + down, column + right
            if place in seen or not (0 <= place[0] < size and 0 <= place[1] < size):
                continue
            seen.add(place)
            index = 2 * (place[0] * size + place[1])
            tile, step = text[index : index + 2], word if first == "Stay" else first
            if tile == "[]" if weak else tile[0] == "$" and tile[1] != str(hero["id"]):
                return step
            if tile == "  ":
                ahead.append((place, step))
    return "Stay"


def main(server, key):
    state = post(f"{server}/api/arena", key=key)
    while not state["game"]["finished"]:
        state = post(state["playUrl"], dir=choose(state))


if __name__ == "__main__":
    main(*sys.argv[1:])
