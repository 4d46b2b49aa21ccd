"""Parts of the method `snippet`, which asks no model: what the issue itself contains, run
and made a test."""
