"""Results for people: tables, diffs and sentences, printed on a console."""
