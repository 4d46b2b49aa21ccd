"""What people see: tables, diffs and sentences, printed on a console."""
