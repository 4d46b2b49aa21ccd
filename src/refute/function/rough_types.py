"""Rough types of expressions by form: int float num str list set dict tuple bool iter, or `?`.

`num` is an int or a float. Nothing is executed and nothing is followed through the program.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

_CALLS = {
    "len": "int", "int": "int", "ord": "int", "sum": "num", "round": "num", "abs": "num",
    "pow": "num", "float": "float", "str": "str", "chr": "str", "bin": "str", "hex": "str",
    "input": "str", "repr": "str", "list": "list", "sorted": "list", "set": "set",
    "frozenset": "set", "dict": "dict", "tuple": "tuple", "bool": "bool", "any": "bool",
    "all": "bool", "isinstance": "bool",
    "callable": "bool", "hasattr": "bool", "range": "iter", "zip": "iter", "map": "iter",
    "filter": "iter", "enumerate": "iter", "reversed": "iter", "Counter": "dict",
    "defaultdict": "dict", "deque": "list", "iter": "iter",
}  # fmt: skip
_METHODS = {
    "lower": "str", "upper": "str", "strip": "str", "lstrip": "str", "rstrip": "str",
    "join": "str", "replace": "str", "title": "str", "capitalize": "str", "swapcase": "str",
    "zfill": "str", "hexdigest": "str", "format": "str", "split": "list", "splitlines": "list",
    "keys": "iter", "values": "iter", "items": "iter", "count": "int", "index": "int",
    "find": "int", "rfind": "int", "bit_length": "int", "isdigit": "bool", "isalpha": "bool",
    "isupper": "bool", "islower": "bool", "isalnum": "bool", "isspace": "bool",
    "startswith": "bool", "endswith": "bool", "copy": "?",
}  # fmt: skip
_ANNOTATIONS = {
    "int": "int", "float": "float", "str": "str", "bool": "bool", "list": "list", "List": "list",
    "dict": "dict", "Dict": "dict", "set": "set", "Set": "set", "tuple": "tuple",
    "Tuple": "tuple", "Iterable": "iter", "Sequence": "list",
}  # fmt: skip


def annotated_type(node: ast.expr) -> str:
    """The rough type that an annotation says."""
    if isinstance(node, ast.Subscript):
        node = node.value
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    return _ANNOTATIONS.get(name, "?")


def rough_type(node: ast.AST, types: Mapping[str, str], depth: int = 12) -> str:
    """The rough type of an expression; `types`: those of its variables, as far as known.

    What is nested deeper than `depth` says nothing: each part of a long sum is asked for its type.
    """
    if not depth:
        return "?"
    deeper = depth - 1
    match node:
        case ast.Constant(value=value):
            name = type(value).__name__
            return name if name in ("int", "float", "str", "bool") else "?"
        case ast.Name(id=name):
            return types.get(name, "?")
        case ast.Call(func=ast.Attribute(attr=attr)):
            return _METHODS.get(attr, "?")
        case ast.Call(func=ast.Name(id=name)):
            return _CALLS.get(name, "?")
        case ast.Compare():
            return "bool"
        case ast.UnaryOp(op=ast.Not()):
            return "bool"
        case ast.UnaryOp(operand=operand):
            return rough_type(operand, types, deeper)
        case ast.BoolOp(values=values):
            kinds = [rough_type(value, types, deeper) for value in values]
            return "?" if "bool" in kinds and len(set(kinds)) > 1 else kinds[-1]
        case ast.IfExp(body=body):
            return rough_type(body, types, deeper)
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Set() | ast.SetComp():
            return "set"
        case ast.Dict() | ast.DictComp():
            return "dict"
        case ast.Tuple():
            return "tuple"
        case ast.GeneratorExp():
            return "iter"
        case ast.JoinedStr():
            return "str"
        case ast.Subscript(value=value, slice=index):
            whole = rough_type(value, types, deeper)
            return whole if isinstance(index, ast.Slice) or whole == "str" else "?"
        case ast.BinOp(left=left, op=op, right=right):
            a, b = rough_type(left, types, deeper), rough_type(right, types, deeper)
            if isinstance(op, ast.Div):
                return "float"
            if "str" in (a, b):
                return "str"
            if "list" in (a, b):
                return "list"
            if isinstance(op, ast.Add | ast.Mult):
                return a if a == b else "num" if {a, b} <= {"int", "float", "num"} else "?"
            return a if a == b else "num"
    return "?"


def suits(kind: str, kinds: Collection[str]) -> bool:
    """Return whether a rough type is unknown or one of `kinds`."""
    if kind == "num":
        return "int" in kinds or "float" in kinds or "num" in kinds
    return kind == "?" or kind in kinds
