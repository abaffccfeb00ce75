"""Commands that compare bots and learn parameters."""
