"""Tours over mines and taverns: where stops are, the search for the best order, and plans for a turn."""
