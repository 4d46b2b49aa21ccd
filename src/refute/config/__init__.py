"""Settings that need not be typed: `[tool.refute]` in pyproject.toml, and `REFUTE_*`.

The command line comes first, then the environment, then the file, then the default. The file is
data of a repository that may be a stranger's: it sets how long, how many and in which form, and
never what is started, asked or written (see `refute.config.declared`).
"""
