"""The classic traits, after the bots of 2014: finders, combat, look-ahead and others."""
