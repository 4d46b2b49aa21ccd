"""What all rooms share: words, methods and their parameters, registries, files, errors said."""
