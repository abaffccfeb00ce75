"""What people see of the server: pages, pictures, and streams of events for spectators."""
