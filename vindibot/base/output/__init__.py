"""What people read: text without control characters, terminals, pages."""
