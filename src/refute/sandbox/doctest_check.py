"""Whether an example of a session showed what it is to show, as `doctest` decides it."""

from __future__ import annotations

import re
from typing import Any

from refute.core.problems import Want

__all__ = ["shows", "without_addresses"]

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")


def shows(shown: Any, want: Want) -> bool:
    """Whether an example showed what is wanted, as `doctest.DocTestRunner` decides it.

    `shown`: what a `Session` returned; anything else is a "no".
    """
    match shown:
        case (str() as text, None, bool()):
            if want.text is None or want.raised is not None:
                return want.raised is None
            return _printed(want.text, text, want.options)
        case (str(), str() as raised, bool()):
            if want.raised is None:
                return False
            if _printed(want.raised, raised, want.options):
                return True
            import doctest

            lax = want.options & doctest.IGNORE_EXCEPTION_DETAIL
            return bool(lax) and _printed(_kind(want.raised), _kind(raised), want.options)
    return False


def without_addresses(text: str) -> str:
    """What is shown without where objects lie, which another run shows otherwise."""
    return _ADDRESS.sub("0x", text)


def _printed(want: str, got: str, options: int) -> bool:
    import doctest  # slow to import, and few programs need it

    return doctest.OutputChecker().check_output(want, got, options)


def _kind(line: str) -> str:
    """The exception's bare name: what IGNORE_EXCEPTION_DETAIL compares."""
    return line.split("\n", 1)[0].partition(":")[0].rpartition(".")[2]
