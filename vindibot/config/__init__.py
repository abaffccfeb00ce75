"""The TOML files that users write: lookup, reading, merging, checks, and messages that name the line of an error."""
