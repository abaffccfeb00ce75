"""Play against bots: a person steers a hero in a page, and the bots play beside the server that serves it.

`host` is the program that runs, `bout` one game, `offers` what a person can choose from, `routes` what the page speaks with.
"""
