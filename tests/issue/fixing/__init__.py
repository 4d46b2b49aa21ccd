"""The other task of a method: a fix, and what is claimed of it."""
