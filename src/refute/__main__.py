"""`python -m refute`. In a folder of others' use the command `refute`: Python itself looks for
`refute` in the current folder first, before any of this runs."""

import sys

if not sys.flags.safe_path:  # then the current folder comes first
    del sys.path[0]  # nothing else is imported from there, here or in a worker

from refute.doors.command_line import main

main()
