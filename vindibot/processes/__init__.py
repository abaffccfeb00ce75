"""Child processes that run other people's code: the fork server, its children, and pools of them."""
