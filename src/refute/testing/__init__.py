"""Checks for models that are plugged in, to be run with pytest by whoever made one."""
