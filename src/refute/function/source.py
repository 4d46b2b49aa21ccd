"""A Python source file: read with its own encoding, shown as a diff, written back as it was."""

from __future__ import annotations

import difflib
import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

from refute.core.storage import read_file, write_output
from refute.errors import InputError

LARGEST_SOURCE = 1 << 20
"""Bytes of a Python file that is looked at; larger ones are data, and take seconds to read."""
UNSAVED: dict[Path, str] = {}
"""Texts of an editor, by absolute path: they are read in place of the files."""
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """`text` has `\\n` line ends whatever the file has; `raw` is the file as it is on disk."""

    path: Path
    text: str
    encoding: str
    """As Python reads it (PEP 263); `utf-8-sig` where the file begins with a byte order mark."""
    raw: bytes

    def rewrite(self, text: str) -> None:
        """Replace the file's content by `text`, all or nothing.

        Encoding, byte order mark, line ends and mode stay. Raises `InputError` when the file was
        changed since it was read, is a link, or cannot hold the text.
        """
        try:
            if read_file(self.path, limit=LARGEST_SOURCE) != self.raw:
                raise InputError(f"{self.path}: changed since it was read; nothing was written")
            encoded = self._with_line_ends(text).encode(self.encoding)
            write_output(self.path, encoded)
        except UnicodeError as error:
            raise InputError(f"{self.path}: {error}; nothing was written") from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror}") from None

    def _with_line_ends(self, text: str) -> str:
        """Unchanged lines keep their own line end, new ones get the one of the line before."""
        original = self.raw.decode(self.encoding)
        ends = [match.group() for match in _LINE_END.finditer(original)]
        if len(set(ends)) <= 1:
            return text.replace("\n", ends[0]) if ends else text
        before, after = self.text.split("\n"), text.split("\n")
        chosen = [""] * len(after)
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        for _, start, stop, new_start, new_stop in matcher.get_opcodes():
            for offset in range(new_stop - new_start):
                at = min(start + offset, max(stop - 1, 0))
                chosen[new_start + offset] = ends[min(at, len(ends) - 1)]
        pieces = [line + end for line, end in zip(after[:-1], chosen, strict=False)]
        return "".join(pieces) + after[-1]


def read_source(path: Path) -> SourceFile:
    """Read a Python file. Raises `InputError` where it cannot be read or decoded."""
    if (text := UNSAVED.get(path.absolute())) is not None:
        raw = text.encode("utf-8", "replace")
        return SourceFile(path, _LINE_END.sub("\n", text), "utf-8", raw)
    try:
        raw = read_file(path, limit=LARGEST_SOURCE)
        text, encoding = decoded(raw)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise InputError(f"{path}: not a Python source file: {error}") from None
    return SourceFile(path, text, encoding, raw)


def decoded(raw: bytes) -> tuple[str, str]:
    """The text of a Python file, lines ended by `\\n`, and its encoding (PEP 263). Raises
    `SyntaxError`, `UnicodeError`, `LookupError`."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    return _LINE_END.sub("\n", raw.decode(encoding)), encoding


def encoded(text: str) -> bytes:
    """The bytes of a Python file that `decoded` gives this text of. Raises `UnicodeError`."""
    raw = text.encode("utf-8", "surrogateescape")
    encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    return raw if encoding.startswith("utf-8") else text.encode(encoding)


def unified_diff(before: str, after: str, name: str) -> str:
    """The change as `patch -p1` and `git apply` read it; "" where nothing changed."""
    lines: list[str] = []
    old, new = (_LINE_END.sub("\n", text).split("\n") for text in (before, after))
    complete = [f"{line}\n" for line in old[:-1]] + ([old[-1]] if old[-1] else [])
    changed = [f"{line}\n" for line in new[:-1]] + ([new[-1]] if new[-1] else [])
    for line in difflib.unified_diff(complete, changed, f"a/{name}", f"b/{name}"):
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def diff_name(path: Path) -> str:
    """The path that a diff names: relative to the working directory where it lies below."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.resolve().as_posix().lstrip("/")
