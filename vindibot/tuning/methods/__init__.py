"""Ways to choose parameters: screening, and two kinds of search."""
