"""Watch the methods of one object without changing its class."""


def precede(thing, name, event):
    """Call `event` with the same arguments before each call of the method of this very object."""
    original = getattr(thing, name)

    def method(*args, **kwargs):
        event(*args, **kwargs)
        return original(*args, **kwargs)

    setattr(thing, name, method)
