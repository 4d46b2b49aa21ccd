"""Common parts of all rooms: problems, methods and their parameters, registries, files, remarks."""
