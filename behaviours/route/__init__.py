"""Routes over mines and taverns: the distances between waypoints, the search for their best order, and plans for a turn."""
