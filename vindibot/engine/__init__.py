"""The parts that choose a move before the deadline: agent, process pool, deadline, health of the traits."""
