"""Which functions are hardened, and which of their lines: what changed, or what was named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from refute.core.remarks import remark
from refute.diffing.changes import changed
from refute.diffing.definitions import Definition
from refute.diffing.modules import Module, Modules
from refute.diffing.revisions import NoDifference, Tree, open_revisions
from refute.diffing.trees import is_source, list_tree
from refute.errors import InputError
from refute.function.target import open_targets
from refute.workspace.snapshot import checkout_root, snapshot


@dataclass(frozen=True, slots=True)
class Part:
    """A function that is hardened."""

    module: Module
    definition: Definition
    lines: frozenset[int] | None = None
    """First lines of the statements that changed; None: all of it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What there is to harden, in a checkout as it is now."""

    tree: Tree
    modules: Modules
    parts: tuple[Part, ...]

    def tests(self, most: int) -> tuple[str, ...]:
        """The test files that are near, the nearest first; by reading."""
        from refute.issue.context.neighbours import neighbouring_tests

        texts = {path: self.text(path) for path in self.tree.files if path.endswith(".py")}
        changed = list(dict.fromkeys(part.module.path for part in self.parts))
        hint = "\n".join(f"def {part.definition.name}" for part in self.parts)
        return neighbouring_tests(changed, texts, hint=hint, most=most)

    def text(self, path: str) -> str:
        """The text of a file; "" where there is none that can be read."""
        try:
            return self.tree.read(path, 1 << 20).decode()
        except (OSError, ValueError):
            return ""


@contextmanager
def open_subject(
    targets: Sequence[str], since: str | None, repo: Path, end: float
) -> Iterator[Subject]:
    """The functions that changed since a commit (with `targets`, files and folders, only those in
    them), or the targets' own where there is no `since`; without either, what differs from HEAD:
    something must. `end`: when the time is up (`time.monotonic`); files that are left are not read.

    Raises `InputError`, `WorkspaceUnavailable`.
    """
    root = checkout_root(repo)
    if targets and since is None:
        tree = _working_tree(root)
        modules = Modules(tree)
        yield Subject(tree, modules, tuple(_named(targets, root, modules, end)))
        return
    within = [Path(target).resolve() for target in targets]
    for target, place in zip(targets, within, strict=True):
        if not place.exists():
            raise InputError(f"{target}: --since takes files and folders, which exist")
    try:
        with open_revisions(root, since) as revisions:
            modules = Modules(revisions.after)
            changes = changed(revisions, end)
            remark(f"{one.path}: not looked at: {one.reason}" for one in changes.unreadable)
            lines: dict[tuple[str, str], frozenset[int] | None] = {
                (one.after.file, one.qualname): frozenset(one.lines_after)
                for one in changes.functions
            }
            lines |= {(one.file, one.qualname): None for one in changes.added}
            parts = []
            for (file, qualname), own in lines.items():
                module = modules.read(file)
                inside = any((root / file).is_relative_to(place) for place in within)
                if isinstance(module, Module) and (inside or not within):
                    parts.append(Part(module, module.found.functions[qualname], own))
            yield Subject(revisions.after, modules, tuple(parts))
    except NoDifference:
        if since is None:  # nothing was asked for, and nothing is compared
            raise
        tree = _working_tree(root)
        yield Subject(tree, Modules(tree), ())


def _working_tree(root: Path) -> Tree:
    folder, commit = snapshot(root)
    files = tuple(entry.path for entry in list_tree(folder, commit) if not entry.is_link)
    return Tree(root, "working tree", commit, files)


def _named(targets: Sequence[str], root: Path, modules: Modules, end: float) -> Iterator[Part]:
    """The functions of targets; of a whole file the private ones too, which others call."""
    for target in targets:
        whole = "::" not in target and (":" not in target or Path(target).exists())
        opened = open_targets([target], end=end)
        late = (one for one in opened.skipped if one.kind == "no time left")
        remark(f"{one.where}: not looked at: {one.reason}" for one in late)
        for one in opened.modules:
            path = one.source.path.resolve()
            if not path.is_relative_to(root):
                raise InputError(f"{target}: lies outside of the repository {root}; see -C")
            module = modules.read(path.relative_to(root).as_posix())
            if not isinstance(module, Module):
                raise InputError(f"{target}: {module.reason}")
            if not is_source(module.path):
                raise InputError(f"{target}: holds tests or builds the project; name its code")
            for name, definition in module.found.functions.items():
                if name in one.functions or (whole and definition.is_private):
                    yield Part(module, definition)
