"""The kinds of models, one a file: what `refute.core.registry.MODELS` finds.

Their libraries are imported where a model is opened: torch and the HTTP client take seconds.
"""
