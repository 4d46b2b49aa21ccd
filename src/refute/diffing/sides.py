"""One revision ready to run: its folder, a sandbox that imports from it, what its modules hold."""

from __future__ import annotations

import ast
import configparser
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from refute.core.problems import Scenario
from refute.core.storage import ScratchFolder, parse_toml
from refute.diffing.comparison import neutral
from refute.diffing.modules import Module
from refute.diffing.revisions import Tree
from refute.function.project import Surroundings, surroundings
from refute.function.scenarios.described import Described, describe_module
from refute.function.scenarios.observation import LIMITS, Observation, observe
from refute.sandbox import Limits, Program
from refute.sandbox.interpreter import Interpreter
from refute.sandbox.local import LocalSandbox
from refute.source.syntax import readable_module

T = TypeVar("T")


@dataclass(slots=True)
class Side:
    """A revision's tree with a sandbox on it."""

    tree: Tree
    interpreter: Interpreter | None
    metadata: Path
    """A folder of metadata for the project, last on the path."""
    _boxes: dict[tuple[Path, ...], LocalSandbox] = field(default_factory=dict)
    _described: dict[tuple[str, tuple[str, ...]], Described | str] = field(default_factory=dict)

    def around(self, module: Module) -> Surroundings:
        """Return the surroundings of the module in this revision."""
        return surroundings(self.tree.root / module.path)

    def box(self, module: Module) -> LocalSandbox:
        """The sandbox, opened on first use: one for all modules of the revision that are imported
        from the same folders: several packages of a repository each have their own."""
        around = self.around(module)
        path = around.import_path or (self.tree.root,)
        if path not in self._boxes:
            self._boxes[path] = LocalSandbox(
                readable=(self.tree.root, *around.readable),
                import_path=(*path, self.metadata),
                interpreter=self.interpreter,
            )
        return self._boxes[path]

    def describe(self, module: Module, names: Sequence[str]) -> Described | str:
        """See `describe_module`; kept."""
        key = module.name, tuple(names)
        if key not in self._described:
            program = self._program(module, names[0])
            box = self.box(module)
            self._described[key] = describe_module(box, module.name, names, program=program)
        return self._described[key]

    def observe(
        self,
        module: Module,
        name: str,
        scenarios: Sequence[Scenario],
        lines: Sequence[int],
        file: str,
        limits: Limits = LIMITS,
    ) -> list[Observation]:
        """Run scenarios on this revision; `lines` of `file` (path in the tree) are watched."""
        program = self._program(module, name)
        watched = str((self.tree.root / file).resolve())
        runs = [replace(one, lines=tuple(lines), file=watched) for one in scenarios]
        seen = observe(self.box(module), program, runs, limits)
        return [neutral(one, str(self.tree.root)) for one in seen]

    def run_test(self, test: Module, name: str, beside: Module) -> Observation:
        """Run a test that is given nothing, where a module of the revision can be imported."""
        owner, _, last = name.rpartition(".")
        call = Scenario(f"{owner}().{last}()" if owner else f"{name}()")
        program = Program(test.text, name, filename=str(self.tree.root / test.path))
        [seen] = observe(self.box(beside), program, [call])
        return seen

    def _program(self, module: Module, name: str) -> Program:
        where = str((self.tree.root / module.path).resolve())
        return Program(module.text, name, filename=where, module=module.name)

    def read(self, name: str) -> str | None:
        """The text of a file of the tree, by its path on this machine."""
        try:
            path = Path(name).resolve().relative_to(self.tree.root.resolve())
            return self.tree.read(str(path), 2 << 20).decode("utf-8")
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        """End the sandboxes."""
        while self._boxes:
            self._boxes.popitem()[1].close()


class Sides:
    """Both revisions; what is asked of both is asked at once."""

    def __init__(self, before: Tree, after: Tree, interpreter: Interpreter | None) -> None:
        self._scratch = ScratchFolder()
        folder = Path(self._scratch.name).resolve()
        folder.chmod(0o755)  # programs in the sandbox run as nobody
        write_metadata(after.root, folder)
        self.before = Side(before, interpreter, folder)
        self.after = Side(after, interpreter, folder)
        self._threads = ThreadPoolExecutor(2)

    def both(self, before: Callable[[], T], after: Callable[[], T]) -> tuple[T, T]:
        """Run two functions side by side and return their results."""
        first, second = self._threads.submit(before), self._threads.submit(after)
        return first.result(), second.result()

    def __enter__(self) -> Sides:
        return self

    def __exit__(self, *failed: object) -> None:
        self._threads.shutdown()
        self.before.close()
        self.after.close()
        self._scratch.cleanup()


# -- metadata of a project that is not installed, which asks for its own version -------------------

VERSION = "0+unknown"
_MOST = 1 << 20  # bytes of a file with settings


def write_metadata(root: Path, folder: Path) -> None:
    """Write metadata for the names that the project at `root` gives itself into `folder`."""
    for name in dict.fromkeys(_names(root)):
        safe = "".join(c if c.isalnum() or c in "._" else "_" for c in name)[:100]
        if not safe.strip("._"):
            continue
        place = folder / f"{safe}-{VERSION}.dist-info"
        place.mkdir(parents=True, exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: {' '.join(name.split())}\nVersion: {VERSION}\n"
        (place / "METADATA").write_text(text, "utf-8")


def _names(root: Path) -> Iterator[str]:
    try:
        settings = parse_toml(_text(root / "pyproject.toml"))
        tools = settings.get("tool", {})
        for table in (settings.get("project", {}), tools.get("poetry", {}), tools.get("flit", {})):
            if isinstance(table.get("name"), str):
                yield table["name"]
    except (OSError, ValueError, AttributeError, TypeError):
        pass
    try:
        parser = configparser.ConfigParser(interpolation=None)
        parser.read_string(_text(root / "setup.cfg"))
        yield parser["metadata"]["name"]
    except (OSError, ValueError, KeyError, configparser.Error):
        pass
    try:
        for node in ast.walk(readable_module(_text(root / "setup.py"))):
            match node:
                case ast.keyword(arg="name", value=ast.Constant(value=str(name))):
                    yield name
    except (OSError, ValueError):
        pass


def _text(path: Path) -> str:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST:
        raise OSError
    return path.read_text("utf-8")
