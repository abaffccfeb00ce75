"""The viewer: games as data for a page (`bundle`), and the page itself."""
