"""Code that all other packages of vindibot use: errors, log, redaction, printable text, pages, safe writing, keys, addresses,
processes."""
