"""What people see of a tournament: the display while it runs, tables, the page with charts."""
