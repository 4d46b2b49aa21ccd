"""Values that an annotation allows, as far as it is understood.

Names are looked up in the module under test: `NewType`, type aliases and `TypedDict`s are read as
what they stand for; members of its enums, and its dataclasses and named tuples, are written down
for the program under test to make (`written`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from refute.function.search.domain import Constants, Domain, Mappings, Numbers, Part, Sequences
from refute.function.search.texts import Texts
from refute.function.search.written import Records, Written
from refute.source.syntax import Function, parse_expression

__all__ = [
    "GRID_NAMES",
    "TEXTS_NAMES",
    "Named",
    "annotated",
    "element_of",
    "named_types",
    "text_of",
]


@dataclass(frozen=True, slots=True)
class Members:
    """An enum."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """A class of which instances are made with keyword arguments."""

    required: dict[str, ast.expr]


Named = Mapping[str, ast.expr | Members | Fields]
"""What types of a module stand for: an annotation, or a dictionary display with an annotation for
each key of a `TypedDict`, or what is needed to make one."""

_WRAPPERS = frozenset({"required", "notrequired", "readonly", "final", "annotated", "initvar"})
_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})

TEXTS_NAMES = re.compile(r"(^|_)(words|strings|names|strs|texts|lines|tokens)$", re.I)
GRID_NAMES = re.compile(r"(matrix|grid|board|image|table)", re.I)


def named_types(tree: ast.Module) -> dict[str, ast.expr | Members | Fields]:
    """The types that a module gives a name to at its top level."""
    found: dict[str, ast.expr | Members | Fields] = {}
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name):
                said = _class(node, found)
                if said is not None:
                    found[name] = said
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=func, args=[_, said])
            ) if _label(func) in ("NewType", "TypedDict"):
                found[name] = said
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() as said):
                found[name] = said
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.BinOp(op=ast.BitOr()) | ast.Name() as said
            ):
                found[name] = said
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=ast.expr() as said):
                if _label(kind) == "TypeAlias":
                    found[name] = said
            case _ if type(node).__name__ == "TypeAlias":  # Python 3.12
                found[getattr(node, "name").id] = getattr(node, "value")  # noqa: B009
    return found


def _class(node: ast.ClassDef, found: Named) -> ast.expr | Members | Fields | None:
    """A class that tells how its instances are made; None: it does not."""
    labels = [_label(base) for base in node.bases]
    above = [found[label] for label in labels if label in found]
    dictionaries = [one for one in above if isinstance(one, ast.Dict)]
    if dictionaries or "TypedDict" in labels:
        fields = dict(pair for one in dictionaries for pair in _items(one)) | _fields(node)
        keys: list[ast.expr | None] = [ast.Constant(key) for key in fields]
        return ast.Dict(keys, list(fields.values()))
    if not _ENUMS.isdisjoint(labels):
        return Members(tuple(_members(node)))
    decorators = {
        _label(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list
    }
    if "dataclass" not in decorators and "NamedTuple" not in labels:
        return None
    own = {one.name for one in node.body if isinstance(one, Function)}
    unknown = [label for label in labels if label not in (*found, "NamedTuple", "Generic", "ABC")]
    if unknown or not own.isdisjoint({"__init__", "__new__", "__post_init__"}):
        return None
    required: dict[str, ast.expr] = {}
    for one in above:
        if not isinstance(one, Fields):
            return None
        required |= one.required
    for name, said in _fields(node, required=True).items():
        if _label(said) != "ClassVar":
            required[name] = said
    return Fields(required)


def _members(node: ast.ClassDef) -> Iterator[str]:
    for one in node.body:
        match one:
            case ast.Assign(targets=[ast.Name(id=name)]) if not name.startswith("_"):
                yield name


def _fields(node: ast.ClassDef, *, required: bool = False) -> dict[str, ast.expr]:
    return {
        one.target.id: one.annotation
        for one in node.body
        if isinstance(one, ast.AnnAssign)
        and isinstance(one.target, ast.Name)
        and not (required and one.value is not None)
    }


def _items(node: ast.Dict) -> Iterator[tuple[str, ast.expr]]:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value


def _label(node: ast.expr) -> str:
    """`Sequence` of `typing.Sequence[int]`."""
    return ast.unparse(node.value if isinstance(node, ast.Subscript) else node).rsplit(".", 1)[-1]


def annotated(
    node: ast.expr,
    name: str,
    scale: Numbers,
    words: tuple[str, ...],
    named: Named,
    levels: int = 4,
) -> Domain:
    """The domain an annotation spells; empty when it says nothing that is understood.

    `name`: the parameter's. `scale`: the integers, `words`: the texts of the code. `named`: the
    types that its module names, `levels` of them one behind the other.
    """

    def inner(one: ast.expr) -> Domain:
        domain = annotated(one, "", scale, words, named, levels)
        return domain if domain.parts else Domain((scale,))

    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return annotated(parse_expression(node.value), name, scale, words, named, levels)
        except SyntaxError:
            return Domain()
    if isinstance(node, ast.Constant) and node.value is None:
        return Domain((Constants((None,)),))
    if isinstance(node, ast.Dict):
        fields = tuple((key, inner(said)) for key, said in _items(node))
        return Domain((Mappings(Domain(), Domain(), len(fields), len(fields), fields),))
    if isinstance(node, ast.Name) and node.id in named:
        said = named[node.id]
        if isinstance(said, Members):
            members = tuple(Written(f"{node.id}.{member}") for member in said.names)
            return Domain((Constants(members),) if members else ())
        named, levels = named if levels else {}, levels - 1
        if isinstance(said, Fields):
            each = ((key, inner(one)) for key, one in said.required.items())
            return Domain((Records(node.id, tuple(each)),))
        return annotated(said, name, scale, words, named, levels)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [
            annotated(side, name, scale, words, named, levels).parts
            for side in (node.left, node.right)
        ]
        return Domain((*sides[0], *sides[1]))
    label = _label(node).lower()
    inside: list[ast.expr] = []
    if isinstance(node, ast.Subscript):
        inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    element = inner(inside[0]) if inside else element_of(name, scale, words)
    part: Part | None = None
    if label in _WRAPPERS and inside:
        return annotated(inside[0], name, scale, words, named, levels)
    if label in ("union", "optional"):
        parts = [
            p for one in inside for p in annotated(one, name, scale, words, named, levels).parts
        ]
        return Domain((*parts, Constants((None,))) if label == "optional" else tuple(parts))
    if label == "literal":
        values = [ast.literal_eval(one) for one in inside if isinstance(one, ast.Constant)]
        part = Constants(tuple(values)) if values else None
    elif label == "int":
        part = scale
    elif label == "float":
        part = Numbers(float, float(scale.low), float(scale.high), scale.marks)
    elif label == "bool":
        part = Constants((True, False))
    elif label == "str":
        part = text_of(words)
    elif label in ("list", "sequence", "iterable", "collection", "mutablesequence"):
        part = Sequences(list, element, 1, 4)
    elif label == "tuple":
        exact = inside and not (len(inside) == 2 and isinstance(inside[1], ast.Constant))
        places = tuple(inner(one) for one in inside) if exact else ()
        part = Sequences(tuple, element, 1, 4, places=places)
    elif label in ("set", "frozenset"):
        part = Sequences(set if label == "set" else frozenset, element, 1, 4)
    elif label in ("dict", "mapping", "defaultdict"):
        key = inner(inside[0]) if inside else Domain((text_of(words),))
        value = inner(inside[1]) if len(inside) > 1 else Domain((scale,))
        part = Mappings(key, value, 1, 4)
    return Domain((part,) if part is not None else ())


def element_of(name: str, scale: Numbers, words: tuple[str, ...]) -> Domain:
    """Return the domain of the elements of a list of that name."""
    if TEXTS_NAMES.search(name):
        return Domain((text_of(words),))
    if GRID_NAMES.search(name):
        return Domain((Sequences(list, Domain((scale,)), 3, 3),))
    return Domain((scale,))


def text_of(words: tuple[str, ...]) -> Texts:
    """Texts as people write them, with the short ones of the code."""
    typical = ["abc", "aBc", "hello", "Hello World", "a1b2"]
    own = "".join(sorted({c for word in words for c in word if len(word) <= 3}))
    return Texts.learn([*typical, own] if own.strip() else typical)
