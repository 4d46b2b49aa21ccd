"""Count the line events of `sys.monitoring` (Python 3.12 and newer): exactly those of settrace."""

import sys

_TOOL = 4  # not one of the ids that the documentation gives to debuggers, coverage and profilers


def _codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            for inner in _codes(constant):
                yield inner


def watch(code, lines, counters):
    """Ask for line events in this code and all code within it; the code itself stays as it is."""
    monitoring = sys.monitoring
    event = monitoring.events.LINE
    if monitoring.get_tool(_TOOL) is None:
        monitoring.use_tool_id(_TOOL, "refute")
    slots = _slots(counters, event)
    slots.setdefault(code.co_filename, {}).update(lines)
    for one in _codes(code):
        monitoring.set_local_events(_TOOL, one, event)
    return code


_by_file = {}


def _slots(counters, event):
    if not _by_file:

        def on_line(code, line):
            slot = _by_file[code.co_filename].get(line)
            if slot is None:
                return sys.monitoring.DISABLE
            counters.hit(slot)
            return None

        sys.monitoring.register_callback(_TOOL, event, on_line)
    return _by_file
