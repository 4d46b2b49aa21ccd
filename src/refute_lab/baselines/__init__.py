"""Methods that the papers compare with, and their own parts."""
