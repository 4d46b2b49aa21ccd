"""What people see: terminal tables and diffs, and the JSON documents."""
