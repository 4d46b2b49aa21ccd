"""The part of the probe that runs inside the target's interpreter (Python 3.6 and newer).

Here: run the sitecustomize and usercustomize that the probe's own hide.

They may be the repository's. In the process of the runner they wait until the nonce is taken; any
other process runs them at once, as `site` would have.
"""

import os
import sys

_waiting = []


def hidden(name, folder):
    """Run the module `name` that lies behind the one in `folder`, now or in `run_waiting`."""
    channel = os.environ.get("REFUTE_PROBE")
    if channel and os.path.exists(os.path.join(channel, "secret")):
        _waiting.append((name, folder))
    else:
        _run(name, folder)


def run_waiting():
    """Run what had to wait; an error is printed and changes nothing, as with `site`."""
    for name, folder in _waiting:
        try:
            _run(name, folder)
        except Exception as error:
            told = (name, type(error).__name__, error)
            sys.stderr.write("Error in %s; set PYTHONVERBOSE for traceback:\n%s: %s\n" % told)


def _run(name, folder):
    rest = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    importlib = sys.modules["_frozen_importlib"]
    spec = sys.modules["_frozen_importlib_external"].PathFinder.find_spec(name, rest)
    if spec is None or spec.loader is None:
        return
    module = importlib.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
