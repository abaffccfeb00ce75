"""Games as data: protocol, ballots, recordings, game records and histories, and the check of games by the rules."""
