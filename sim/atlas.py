"""The built-in maps, as text. This file holds the upper left quarter of each map. The other quarters are its mirror images.

Each row of a quarter begins with ``|``. Short rows are filled up with air. ``@1`` in the quarter becomes a hero in each of the
four quarters.
"""

from __future__ import annotations

_QUARTERS = {
    # 10 x 10: open, a pillar in the middle, a tavern for each hero on the rim.
    "courtyard": """
        |##  $-[]
        |  @1
        |$-
        |        ##
        |      ####
    """,
    # 12 x 12: two crossing roads; the mines lie on the inner corners, beside the roads.
    "crossroads": """
        |########
        |##  @1
        |##      ##
        |##    $-##
        |    ####[]
        |
    """,
    # 14 x 14: hedges that bend, one pair of mines near each start and one in the middle.
    "garden": """
        |    $-
        |  @1    ####
        |    ##
        |##  ##  []  ##
        |    ##      ##
        |  ##    ##
        |          $-
    """,
    # 16 x 16: many mines dug into the rock, taverns in the halls between them.
    "quarry": """
        |######$-##  ####
        |##@1        ##$-
        |##  ##  ##
        |$-        $-##
        |##  ##  ####  []
        |    $-    ##
        |##  ##
        |##        $-  ##
    """,
    # 18 x 18: cells around a cloister. Drawn by the generator (walls 32, mines 4 percent).
    "monastery": """
        |##################
        |########    ##  ##
        |##
        |  []##      ##  ##
        |    @1
        |  ##      ##    ##
        |##      $-##$-####
        |    ##  ##########
        |    $-  ##########
    """,
    # 20 x 20: long ways round, and a short way past the neighbour.
    "labyrinth": """
        |####################
        |##@1  ##          $-
        |##          ##  ####
        |####  ##  ##  ##
        |$-    ##        ##
        |##  ####  ##  []##
        |##        ##  ####
        |##  ##  ######
        |      ##$-    ##  ##
        |####
    """,
    # 22 x 22: wide and open, little cover. Drawn by the generator (walls 15, mines 3 percent).
    "heath": """
        |                  ##
        |$-          $-
        |
        |##          ##  ####
        |        @1      ##
        |    ##
        |            ##
        |        $-##
        |        ##          ##
        |                  $-##
        |              []    ##
    """,
    # 24 x 24: rich in mines on all sides. Drawn by the generator (walls 30, mines 4 percent).
    "klondike": """
        |####  []  ##      ##  $-
        |##    ##  $-##  ##
        |    ####          ##
        |      ##  ####  ##
        |        ##        ##
        |              ##    ##
        |$-##              $-##
        |                ##
        |    ##      ##  @1
        |$-    ##    ####
        |##        ####$-  ##
        |    ##  ########
    """,
    # 26 x 26: four strongholds with a mine at their gates, one tavern street through the middle.
    "strongholds": """
        |##########
        |##      ##      ##  ##
        |##  @1    $-  ####
        |##      ##          ##  ##
        |##$-  ####    ##      ##
        |            ##      ####
        |    ##  ##      ##
        |  ####      ##  ##  $-
        |          ##        ##  ##
        |  ##  $-    ####
        |  ##    ##        ##  ##
        |    ##      ####  ##    $-
        |        ##      []
    """,
    # 28 x 28: winding tunnels in solid rock. Drawn by the generator (walls 38, mines 4 percent).
    "catacombs": """
        |############################
        |############################
        |########  ##############  ##
        |######[]    ##  ########
        |########  ##          ##
        |####$-##              $-##
        |          @1    ##
        |####    ##          $-    ##
        |########        ##        ##
        |##$-  ##        ############
        |              $-##      ##
        |##$-    ##        ##
        |      ######$-##
        |  ##          ########    ##
    """,
}


def _whole(quarter: str) -> str:
    """Return the text of the map with this upper left quarter."""
    lines = [line.strip()[1:] for line in quarter.strip().splitlines()]
    half = [[line.ljust(2 * len(lines))[2 * column : 2 * column + 2] for column in range(len(lines))] for line in lines]
    rows = []
    for row, pairs in enumerate([*half, *reversed(half)]):
        left, right = ("@1", "@4") if row < len(half) else ("@2", "@3")
        rows.append([pair.replace("@1", left) for pair in pairs] + [pair.replace("@1", right) for pair in reversed(pairs)])
    return "\n".join("".join(pairs) for pairs in rows) + "\n"


#: The text of every map by its name.
ATLAS: dict[str, str] = {name: _whole(quarter) for name, quarter in _QUARTERS.items()}
