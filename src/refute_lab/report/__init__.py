"""Tables, charts and the self-contained page about runs."""
