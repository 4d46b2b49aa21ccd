"""`python -m refute`."""

from refute.cli import main

main()
