"""The page of a game, the page's data (docs/viewer-format.md), and a server for the pages of our running games."""
