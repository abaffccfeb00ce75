"""Routes over mines and taverns: the distances between waypoints, the search for the best order, and plans for a turn."""
