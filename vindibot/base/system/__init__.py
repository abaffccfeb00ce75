"""What the operating system offers to a process: each module says what it does where a system lacks something."""
