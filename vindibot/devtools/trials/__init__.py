"""Questions to traits, in this process or in a child process that may hang or end."""
