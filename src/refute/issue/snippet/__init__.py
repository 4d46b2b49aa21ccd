"""What the method `snippet`, which asks no model, is made of: what the issue itself contains, run
and made a test."""
