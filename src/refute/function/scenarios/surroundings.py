"""What code reads of its surroundings besides what it is given: environment variables."""

from __future__ import annotations

import ast
from random import Random

from refute.function.scenarios.pieces import Piece
from refute.syntax import Function

__all__ = ["variables_read", "with_variables"]

_GETTERS = frozenset({"get", "pop", "setdefault"})
_VALUES = ("'1'", "'2'", "'a b c'", "'true'", "''")


def variables_read(node: Function | None) -> tuple[str, ...]:
    """Names of the environment variables that a function asks for by a literal, in its order."""
    names: dict[str, None] = {}
    for one in ast.walk(node) if node is not None else ():
        match one:
            case ast.Subscript(value=home, slice=ast.Constant(str(name))):
                asked = _is_environment(home)
            case ast.Call(
                func=ast.Attribute(value=home, attr=how), args=[ast.Constant(str(name)), *_]
            ):
                asked = how == "getenv" or (how in _GETTERS and _is_environment(home))
            case ast.Call(func=ast.Name("getenv"), args=[ast.Constant(str(name)), *_]):
                asked = True
            case _:
                continue
        if asked and name.isidentifier():
            names[name] = None
    return tuple(names)


def _is_environment(node: ast.expr) -> bool:
    return ast.unparse(node) in ("os.environ", "environ")


def with_variables(names: tuple[str, ...], texts: tuple[str, ...], rng: Random) -> Piece:
    """A statement that sets most of the variables. `texts`: sources of texts that the code
    mentions. The sandbox takes it back after the scenario."""
    values = (*_VALUES, *texts[:6])
    chosen = [name for name in names if rng.random() < 0.8] or names
    given = ", ".join(f"{name}={rng.choice(values)}" for name in chosen)
    return Piece(f"os.environ.update({given})", (("os", "os"),))
