"""An issue's example made whole: the imports, and the models, that it leaves to the reader."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from refute.issue.snippet.import_lookup import Names
from refute.issue.snippet.script import Script, Statement, bound_names, definitions, missing_names
from refute.syntax import parse_module


@dataclass(frozen=True, slots=True)
class Prelude:
    """Definitions that have to stand at the level of a module: Django's models."""

    statements: tuple[Statement, ...] = ()
    stubs: tuple[str, ...] = ()
    """Sources of models that the issue uses without showing them."""
    names: frozenset[str] = frozenset()
    folder: str = ""
    """The folder of tests that some are imported from; "": they need none."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A script that can be run."""

    script: Script
    imports: tuple[str, ...]


def completed(
    script: Script, names: Names, prelude: Prelude, more: Iterable[str] = ()
) -> Completed | None:
    """The script with the imports that it lacks; None where nothing of its last piece is left.

    Imports of modules that exist nowhere but in the reporter's project are left out, and so are
    definitions that the prelude holds, statements with names that are not to be found, and all
    that rests on these. `more`: names that are there anyway.
    """
    rows = [row for row in (_without_foreign(row, names) for row in script.statements) if row]
    rows = [row for row in rows if not (_defines(row) & prelude.names)]
    known = frozenset((*prelude.names, *more))
    made = replace(script, statements=tuple(rows))
    imports: dict[str, str] = {}
    lost: set[str] = set()
    for name in sorted(made.missing(known)):
        statement = names.import_of(name)
        if statement is None:
            lost.add(name)
        else:
            imports[name] = statement
    if lost:
        rows = _without(rows, lost)
        made = replace(script, statements=tuple(rows))
    about = [row for row in rows if row.piece == script.pieces[-1]]
    if all(isinstance(row.node, ast.Import | ast.ImportFrom) for row in about):
        return None
    wanted = made.missing(known)
    return Completed(made, tuple(line for name, line in imports.items() if name in wanted))


def _without(rows: Sequence[Statement], lost: set[str]) -> list[Statement]:
    """The statements that can do without the lost names; what the others bind is lost as well."""
    kept: list[Statement] = []
    for row in rows:
        if missing_names([row.node]) & lost:
            lost = lost | bound_names(row.node)
        else:
            lost = lost - bound_names(row.node)
            kept.append(row)
    return kept


def _defines(row: Statement) -> frozenset[str]:
    return (
        bound_names(row.node)
        if isinstance(row.node, ast.ClassDef | ast.FunctionDef)
        else frozenset()
    )


def _without_foreign(row: Statement, names: Names) -> Statement | None:
    """The statement, unless it imports from the reporter's own project."""
    if isinstance(row.node, ast.ImportFrom):
        known = row.node.level == 0 and names.importable(row.node.module or "")
        return row if known else None
    if isinstance(row.node, ast.Import):
        return row if all(names.importable(alias.name) for alias in row.node.names) else None
    return row


_OF_A_FIELD = ("F", "Sum", "Avg", "Min", "Max", "OuterRef", "StdDev", "Variance")
"""What takes a field's name, mostly a number's."""


# -- Django's models -------------------------------------------------------------------------------


def models_of(rows: Sequence[Statement]) -> Prelude:
    """The models that an issue defines, and what of the issue they rest on."""
    defined = definitions(
        row for row in rows if isinstance(row.node, ast.ClassDef | ast.FunctionDef | ast.Assign)
    )
    wanted = {name for name, row in defined.items() if _is_model(row.node, defined)}
    if not wanted:
        return Prelude()
    queue = list(wanted)
    while queue:
        row = defined[queue.pop()]
        used = missing_names([row.node]) & defined.keys() - wanted
        wanted |= used
        queue += used
    order = {id(row): place for place, row in enumerate(rows)}
    chosen = {id(defined[name]): defined[name] for name in wanted}
    kept = sorted(chosen.values(), key=lambda row: order[id(row)])
    return Prelude(tuple(map(_with_on_delete, _ordered(kept))), names=frozenset(wanted))


def _with_on_delete(row: Statement) -> Statement:
    """The model as Django 2.0 and later ask for it: relations say what follows a deletion."""
    lacking = [
        part
        for part in ast.walk(row.node)
        if isinstance(part, ast.Call)
        and ast.unparse(part.func).endswith(("ForeignKey", "OneToOneField"))
        and len(part.args) == 1
        and all(keyword.arg not in ("on_delete", None) for keyword in part.keywords)
    ]
    if not lacking:
        return row
    node = parse_module(row.source).body[0]
    for part in ast.walk(node):
        if any(ast.dump(part) == ast.dump(other) for other in lacking):
            assert isinstance(part, ast.Call)
            cascade = ast.parse("models.CASCADE", mode="eval").body
            part.keywords.append(ast.keyword("on_delete", cascade))
    source = ast.unparse(ast.fix_missing_locations(node))
    return replace(row, source=source, node=parse_module(source).body[0])


def reduced(prelude: Prelude, lost: set[str]) -> Prelude:
    """The models without the fields and methods that use a name that is not to be found."""
    rows: list[Statement] = []
    for row in prelude.statements:
        node = row.node
        if not (missing_names([node]) & lost):
            rows.append(row)
        elif isinstance(node, ast.ClassDef) and not missing_names(node.bases) & lost:
            kept = [part for part in node.body if not missing_names([part]) & lost]
            smaller = ast.ClassDef(
                node.name, node.bases, node.keywords, kept or [ast.Pass()], node.decorator_list
            )
            source = ast.unparse(ast.fix_missing_locations(smaller))
            rows.append(replace(row, source=source, node=parse_module(source).body[0]))
    names = frozenset(name for row in rows for name in bound_names(row.node))
    return replace(prelude, statements=tuple(rows), names=names & prelude.names)


def _ordered(rows: list[Statement]) -> list[Statement]:
    """Definitions before the classes that use them."""
    done: list[Statement] = []
    left = list(rows)
    while left:
        names = {name for row in left for name in _defines(row) | bound_names(row.node)}
        ready = [r for r in left if not (missing_names([r.node]) & names - bound_names(r.node))]
        row = ready[0] if ready else left[0]
        done.append(row)
        left.remove(row)
    return done


def _is_model(node: ast.stmt, defined: dict[str, Statement], depth: int = 0) -> bool:
    if not isinstance(node, ast.ClassDef) or depth > 5:
        return False
    for base in node.bases:
        name = ast.unparse(base)
        if name in ("models.Model", "Model") or name.endswith(
            (".Model", "AbstractUser", "AbstractBaseUser")
        ):
            return True
        if name in defined and _is_model(defined[name].node, defined, depth + 1):
            return True
    return False


def stub_models(rows: Sequence[Statement], missing: Iterable[str]) -> dict[str, str]:
    """Name -> source of a model, for names that are used as `Name.objects` and nowhere defined.

    Its fields are those that the issue's queries name.
    """
    made: dict[str, str] = {}
    aliases = aliases_of(rows)
    for name in sorted(missing):
        if not name[:1].isupper():
            continue
        fields: dict[str, str] = {}
        used = False
        for row in rows:
            for call in (part for part in ast.walk(row.node) if isinstance(part, ast.Call)):
                if not re.match(rf"{name}\.(?:_default_manager|objects)\b", ast.unparse(call.func)):
                    continue
                used = True
                for field, kind in _fields(call):
                    if field not in aliases:
                        fields.setdefault(field, kind)
            used |= f"{name}.objects" in row.source
        if used:
            lines = [f"    {field} = {kind}" for field, kind in fields.items()] or ["    pass"]
            made[name] = "\n".join([f"class {name}(models.Model):", *lines])
    return made


def aliases_of(rows: Sequence[Statement]) -> frozenset[str]:
    """Names that the issue's queries give to expressions: they are no fields."""
    return frozenset(
        keyword.arg
        for row in rows
        for call in ast.walk(row.node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("annotate", "alias", "aggregate", "extra")
        for keyword in call.keywords
        if keyword.arg
    )  # fmt: skip


def _fields(call: ast.Call) -> Iterable[tuple[str, str]]:
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    for part in ast.walk(call):
        match part:
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(field)), *_]) if (
                name in _OF_A_FIELD and re.fullmatch(r"(?!pk$|id$)[a-z]+(?:_?[a-z0-9]+)*", field)
            ):
                yield field, "models.IntegerField(null=True)"
    if method in ("filter", "exclude", "get", "create", "get_or_create", "update_or_create"):
        for keyword in call.keywords:
            field = (keyword.arg or "").partition("__")[0]
            if field not in ("", "pk", "id", "defaults"):
                yield field, _kind(keyword.value)
    if method in ("only", "defer", "values", "values_list", "order_by", "distinct"):
        for argument in call.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                field = argument.value.lstrip("-").partition("__")[0]
                if field.isidentifier() and field not in ("pk", "id"):
                    yield field, "models.CharField(max_length=100)"


def _kind(value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        return "models.BooleanField(default=False)"
    if isinstance(value, ast.Constant) and isinstance(value.value, int):
        return "models.IntegerField(null=True)"
    return "models.CharField(max_length=100)"
