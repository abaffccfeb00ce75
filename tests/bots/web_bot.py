"""A bot that speaks HTTP, and misbehaves in the way that its first argument says. It goes about at random otherwise.

web_bot.py MODE [NOTES]      server and key come from the environment
web_bot.py given SERVER KEY
web_bot.py late SECONDS      joins that much later
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

mode, *more = sys.argv[1:] or ["good"]
server, key = os.environ.get("VINDINIUM_SERVER", ""), os.environ.get("VINDINIUM_KEY", "")
if mode == "given":
    assert more == [server, key], more
    server, key = more


def post(url: str, **form: str) -> dict:
    data = urllib.parse.urlencode(form).encode()
    with urllib.request.urlopen(url, data, timeout=60) as answer:
        return json.load(answer)


if mode == "never joins":
    print("looking for the server")
    sys.stdout.flush()
    time.sleep(3600)
if mode == "late":
    time.sleep(float(more[0]))
if mode == "dies at start":
    sys.exit("cannot find my settings")
state = post(f"{server}/api/{'training' if mode == 'training' else 'arena'}", key=key)
moves = 0
while not state["game"]["finished"]:
    if moves == 3:
        if mode == "dies":
            sys.exit("out of ideas")
        if mode == "stalls":
            time.sleep(3600)
        if mode == "rubbish":
            for form in ({"dir": ""}, {"dir": "x" * 300_000}):
                with contextlib.suppress(urllib.error.URLError):
                    post(state["playUrl"], **form)
        if mode == "floods":
            print("z" * 3_000_000)
        if mode == "forks":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
            with open(more[0], "a") as file:
                file.write(f"{child.pid}\n")
    word = "Sideways" if mode == "rubbish" else random.choice(["Stay", "North", "South", "East", "West"])
    state = post(state["playUrl"], dir=word)
    moves += 1
if mode == "lingers":
    time.sleep(3600)
