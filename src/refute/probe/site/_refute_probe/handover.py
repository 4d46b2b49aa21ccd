"""Pass objects from the launcher to a plugin that the runner imports by name, once."""

_parcels = {}


def leave(name, parcel):
    """Leave something for `take`."""
    _parcels[name] = parcel


def take(name):
    """What was left under the name; None from the second time on."""
    return _parcels.pop(name, None)
