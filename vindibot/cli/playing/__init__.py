"""Commands that play games, serve them or watch them."""
