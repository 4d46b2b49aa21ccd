"""Tells what a module's callables take and its package's classes are made of, as plain data.

Run inside the sandbox, as a program of ours that imports the module under test as anybody would:
standard library only, Python 3.8 and newer. Its answers are hints for what to try, never believed.

A type is a tuple: ("any",), ("none",), ("class", id, [arguments]), ("union", [types]), ("literal",
[values]), ("callable",), ("type", type), ("keys", {key: type}), ("unknown", text). An id is
``module:qualname``. A parameter is (name, kind, default, type), where kind is that of
`inspect.Parameter` and default None for none, ("value", literal) or ("other",).
"""

import collections.abc
import enum
import importlib
import inspect
import sys
import types
import typing

MOST_CLASSES = 400
MOST_METHODS = 60
MOST_WORDS = 12
"""Of one table."""
MOST_TOTAL = 8000
"""Methods of all classes together: the report has to pass the sandbox's border."""
DEEPEST = 5
_LITERALS = (type(None), bool, int, float, str, bytes)


def describe(module_name, names, top):
    """Describe `names` (dotted, in the module) and the classes of the package `top`."""
    module = importlib.import_module(module_name)
    world = _World(top)
    found = {}
    for name in names:
        try:
            found[name] = _callable(module, name, world)
        except BaseException as error:
            found[name] = {"problem": f"{type(error).__name__}: {error}"[:200]}
    done = {}
    total = 0
    while world.wanted and len(done) < MOST_CLASSES and total < MOST_TOTAL:
        kind = world.wanted.pop(0)
        try:
            done[_id(kind)] = said = _class(kind, world)
            total += len(said["methods"])
        except BaseException:
            done[_id(kind)] = None
    return {
        "names": found,
        "classes": {key: one for key, one in done.items() if one},
        "places": {name: ids for name, ids in world.by_name.items() if len(ids) <= 8},
        "tables": _tables(module),
    }


def _tables(module):
    """Name -> some texts and numbers that the module's tables hold, or have for keys."""
    found = {}
    for name, value in list(vars(module).items())[:1000]:
        if type(value) in (dict, list, tuple, set, frozenset) and not name.startswith("__"):
            items = [one for one in list(value)[:200] if type(one) in (str, int, float)]
            short = [one for one in items if not isinstance(one, str) or 0 < len(one) <= 40]
            if short:
                found[name] = short[: MOST_WORDS - 2] + short[MOST_WORDS - 2 :][-2:]
    return found


class _World:
    """The classes of a package, those asked for first."""

    def __init__(self, top):
        self.top = top
        self.by_name = {}
        self.known = {}
        self.wanted = []
        for name, module in sorted(sys.modules.items(), key=lambda pair: str(pair[0])):
            if module is None or not (name == top or name.startswith(top + ".")):
                continue
            for value in list(vars(module).values()):
                if isinstance(value, type) and _own(value, name):
                    self.by_name.setdefault(value.__name__, []).append(_id(value))
                    self.want(value)

    def want(self, kind):
        """Note a class that is to be described, once."""
        key = _id(kind)
        if key not in self.known and _found(key) is kind:
            self.known[key] = kind
            self.wanted.append(kind)


def _own(kind, module_name):
    return getattr(kind, "__module__", None) == module_name and "<locals>" not in kind.__qualname__


def _id(kind):
    return f"{kind.__module__}:{kind.__qualname__}"


def _found(key):
    name, _, qualname = key.partition(":")
    try:
        value = sys.modules[name]
        for part in qualname.split("."):
            value = getattr(value, part)
    except (KeyError, AttributeError):
        return None
    return value


# -- callables -------------------------------------------------------------------------------------


def _callable(module, name, world):
    """Kind, signature and home of what a dotted name of the module is."""
    owner, raw = None, module
    for part in name.split("."):
        owner, raw = raw, inspect.getattr_static(raw, part)
        if isinstance(raw, (staticmethod, classmethod)) and part != name.rsplit(".", 1)[-1]:
            raw = raw.__func__
    if isinstance(owner, type):
        world.want(owner)
    return _member(raw, owner if isinstance(owner, type) else None, world)


def _member(raw, owner, world):
    kind, function = "function", raw
    if owner is not None:
        kind = "method"
        if isinstance(raw, staticmethod):
            kind, function = "static", raw.__func__
        elif isinstance(raw, classmethod):
            kind, function = "class", raw.__func__
        elif isinstance(raw, property):
            kind, function = "property", raw.fget
        elif type(raw).__name__ in ("cached_property", "cachedproperty"):
            kind, function = "property", getattr(raw, "func", None) or getattr(raw, "fget", raw)
        elif not callable(raw):
            kind = "property"
    if isinstance(raw, type):
        world.want(raw)
        said = _construction(raw, world)
        said["kind"] = "type"
        return said
    said = _signature(function, world, owner, skip=kind in ("method", "class", "property"))
    said["kind"] = kind
    return said


def _signature(function, world, owner=None, skip=False):
    inner = inspect.unwrap(function) if callable(function) else function
    code = getattr(inner, "__code__", None)
    said = {
        "params": None,
        "returns": ("any",),
        "file": getattr(code, "co_filename", None),
        "qualname": getattr(inner, "__qualname__", None),
    }
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return said
    given = list(signature.parameters.values())
    if (
        skip
        and given
        and given[0].kind in (given[0].POSITIONAL_ONLY, given[0].POSITIONAL_OR_KEYWORD)
    ):
        given = given[1:]
    said["params"] = [
        (one.name, int(one.kind), _default(one.default), _parameter_type(one, inner, world))
        for one in given[:40]
    ]
    said["returns"] = _type_of(signature.return_annotation, inner, world, 0)
    return said


def _parameter_type(one, function, world):
    """Return the type that is stated for a parameter; else the type of its default."""
    if one.annotation is not inspect.Parameter.empty or one.default is inspect.Parameter.empty:
        return _type_of(one.annotation, function, world, 0)
    default = one.default
    kind = type(default)
    if isinstance(default, type):
        return ("type", ("class", _noted(default, world), []))
    if kind in (types.FunctionType, types.BuiltinFunctionType, types.MethodType):
        return ("callable",)
    if issubclass(kind, enum.Enum):
        return ("class", _noted(kind, world), [])
    return ("any",)


def _default(value):
    if value is inspect.Parameter.empty:
        return None
    if type(value) in _LITERALS and (not isinstance(value, (str, bytes)) or len(value) < 200):
        return ("value", value)
    if type(value) in (tuple, list, dict, set, frozenset) and not value:
        return ("value", value)
    return ("other",)


# -- classes ---------------------------------------------------------------------------------------


def _class(kind, world):
    said = {
        "abstract": bool(inspect.isabstract(kind)),
        "protocol": bool(getattr(kind, "_is_protocol", False)),
        "exception": issubclass(kind, BaseException),
        "members": [],
        "subclasses": [],
        "methods": {},
        "attributes": [],
    }
    for below in _below(kind):
        if below.__module__.partition(".")[0] == world.top.partition(".")[0]:
            world.want(below)
            said["subclasses"].append(_id(below))
    if issubclass(kind, enum.Enum):
        said["members"] = list(kind.__members__)[:20]
        said["make"] = None
    else:
        said["make"] = _construction(kind, world)
    names = [name for name in dir(kind) if not name.startswith("__")][:300]
    said["attributes"] = names + [name for name in _set_on_making(kind) if name not in names]
    for name in names:
        if name.startswith("_") or len(said["methods"]) >= MOST_METHODS:
            continue
        try:
            raw = inspect.getattr_static(kind, name)
            if isinstance(raw, (types.FunctionType, staticmethod, classmethod, property)):
                said["methods"][name] = _member(raw, kind, world)
        except BaseException:
            continue
    return said


def _set_on_making(kind):
    """Names that constructors may set on an instance, those of hints included."""
    found = []
    for base in type.mro(kind)[:-1]:
        own = vars(base)
        found += list(own.get("__annotations__") or ())
        code = getattr(own.get("__init__"), "__code__", None)
        found += code.co_names if code is not None else ()
    return [name for name in dict.fromkeys(found) if not name.startswith("__")][:300]


def _below(kind):
    try:
        return list(type.__subclasses__(kind))[:20]
    except TypeError:
        return []


def _construction(kind, world):
    """The signature with which instances are made."""
    said = _signature(kind, world)
    init = inspect.getattr_static(kind, "__init__", None)
    source = init if isinstance(init, types.FunctionType) else None
    if source is None:
        new = inspect.getattr_static(kind, "__new__", None)
        new = new.__func__ if isinstance(new, staticmethod) else new
        source = new if isinstance(new, types.FunctionType) else None
    if source is None:
        return said
    own = _signature(source, world, skip=True)
    said.update({key: own[key] for key in ("file", "qualname")})
    if said["params"] is None or not any(p[3] != ("any",) for p in said["params"]):
        said["params"] = own["params"]
    return said


# -- types -----------------------------------------------------------------------------------------


def _type_of(said, function, world, depth):
    if said is inspect.Parameter.empty or said is typing.Any or depth > DEEPEST:
        return ("any",)
    if said is None or said is type(None):
        return ("none",)
    if isinstance(said, typing.ForwardRef):
        said = said.__forward_arg__
    if isinstance(said, str):
        return _read(said, function, world, depth)
    supertype = getattr(said, "__supertype__", None)
    if supertype is not None:
        return _type_of(supertype, function, world, depth + 1)
    value = getattr(said, "__value__", None)
    if type(said).__name__ == "TypeAliasType" and value is not None:
        return _type_of(value, function, world, depth + 1)
    if isinstance(said, typing.TypeVar):
        options = list(said.__constraints__) or [said.__bound__ or typing.Any]
        return _type_of(options[0], function, world, depth + 1)
    origin, arguments = typing.get_origin(said), typing.get_args(said)
    if origin is typing.Union or origin is getattr(types, "UnionType", 0):
        return ("union", [_type_of(one, function, world, depth + 1) for one in arguments])
    if origin is typing.Literal:
        return ("literal", [one for one in arguments if type(one) in _LITERALS])
    if type(said).__name__ in ("_AnnotatedAlias",) or str(origin) in (
        "typing.ClassVar", "typing.Final", "typing.Required", "typing.NotRequired",
        "typing_extensions.Required", "typing_extensions.NotRequired", "typing.Annotated",
    ):  # fmt: skip
        return _type_of(arguments[0], function, world, depth + 1)
    if origin is collections.abc.Callable or said in (collections.abc.Callable, typing.Callable):
        return ("callable",)
    if origin is type:
        return ("type", _type_of(arguments[0], function, world, depth + 1))
    if isinstance(origin, type):
        inner = [_type_of(one, function, world, depth + 1) for one in arguments if one is not ...]
        many = [("many",)] if ... in arguments else []
        return ("class", _noted(origin, world), inner + many)
    if isinstance(said, type):
        keys = getattr(said, "__annotations__", None)
        if issubclass(said, dict) and keys and hasattr(said, "__total__"):
            return (
                "keys",
                {
                    key: _type_of(one, said, world, depth + 1)
                    for key, one in list(keys.items())[:20]
                },
            )
        return ("class", _noted(said, world), [])
    if type(said).__name__ in ("Self", "_SpecialForm") and "Self" in str(said):
        return ("unknown", "Self")
    return ("unknown", str(said)[:100])


def _noted(kind, world):
    if kind.__module__ not in ("builtins", "typing", "collections.abc", "types"):
        world.want(kind)
    return _id(kind)


def _read(text, function, world, depth):
    """A type that is written as a text, in the function's module; else by the class's name."""
    names = {}
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    names.update(vars(typing))
    names.update(vars(module) if module is not None else {})
    names.update(getattr(function, "__globals__", {}))
    try:
        return _type_of(eval(text, names), function, world, depth + 1)
    except BaseException:
        pass
    bare = text.strip().strip("'\"")
    parts = [part.strip() for part in bare.split("|")]
    if len(parts) > 1 and "[" not in bare:
        return ("union", [_read(part, function, world, depth + 1) for part in parts])
    if bare.startswith("Optional[") and bare.endswith("]"):
        return ("union", [_read(bare[9:-1], function, world, depth + 1), ("none",)])
    last = bare.partition("[")[0].rsplit(".", 1)[-1]
    if last == "None":
        return ("none",)
    for key in world.by_name.get(last, ()):
        return ("class", key, [])
    return ("unknown", bare[:100])
