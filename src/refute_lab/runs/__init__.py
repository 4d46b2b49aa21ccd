"""A run: settings and journal in a folder, units of work, and executors that do them."""
