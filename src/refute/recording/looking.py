"""Looking at objects without running code of their classes.

`obj.__class__`, `isinstance`, `obj.x` and `hash(type(obj))` all may call what a project (or a test
that is about just that) defines. What is here reads through the descriptors of `type` itself.
"""

from __future__ import annotations

import sys
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

MISSING: Any = object()
"""What is not there."""

mro = type.__dict__["__mro__"].__get__
namespace = type.__dict__["__dict__"].__get__
qualname = type.__dict__["__qualname__"].__get__
_module = vars(type)["__module__"].__get__
_flags = type.__dict__["__flags__"].__get__
_module_dict = vars(ModuleType)["__dict__"].__get__
_HEAP = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: set for each class that a `class` statement made."""


def module_of(kind: type) -> str:
    """The module that a class says it is of; "" where that is no text."""
    try:
        name = _module(kind)
    except AttributeError:
        return ""
    return name if type(name) is str else ""


def lookup(kind: type, name: str) -> Any:
    """A member of a class or of its bases as it stands there, descriptors as such; or `MISSING`."""
    for base in mro(kind):
        members = namespace(base)
        if name in members:
            return members[name]
    return MISSING


def fields(value: Any) -> dict[str, Any]:
    """The attributes that an object itself holds, in `__dict__` and in slots."""
    found: dict[str, Any] = {}
    for base in mro(type(value)):
        made = _flags(base) & _HEAP
        for name, member in list(namespace(base).items()) if made or base is BaseException else ():
            if made and type(member) is MemberDescriptorType:
                try:
                    found[name] = member.__get__(value)
                except AttributeError:
                    pass
            elif name == "__dict__" and type(member) is GetSetDescriptorType:
                held = member.__get__(value)
                if type(held) is dict:
                    found.update(held)
    return found


def find(module: str, path: str) -> Any:
    """What `module` holds under a dotted path, as it stands there; or `MISSING`."""
    home = sys.modules.get(module)
    if home is None or not issubclass(type(home), ModuleType):
        return MISSING
    first, *rest = path.split(".")
    value: Any = dict.get(_module_dict(home), first, MISSING)
    for name in rest:
        if not issubclass(type(value), type):
            return MISSING
        value = namespace(value).get(name, MISSING)
    return value


def global_name(module: str, value: Any) -> str | None:
    """A name under which a module holds just this object; None where there is none."""
    home = sys.modules.get(module)
    if home is None or not issubclass(type(home), ModuleType):
        return None
    names = [name for name, held in list(dict.items(_module_dict(home))) if held is value]
    return next((name for name in names if type(name) is str and name.isidentifier()), None)
