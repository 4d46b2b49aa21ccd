"""Code for a newer Python, as the Python that runs `refute` can read it.

A project may need a newer Python than this one, and its files hold `def first[T](items: list[T])`.
They are run by their own interpreter; here they are only looked at: where is which function, what
does it use. So what only a newer grammar has is written as the older one has it, and every line
stays where it is, and every column but those of the rewritten words:

- type parameters (3.12): left out; `type A[T] = list[T]` is an assignment to `A`;
- in the fields of an f-string its own quotes (3.12) are the other ones, and a backslash is `_`; a
  template string (3.14) is an f-string;
- `except A, B:` (3.14): `except A| B:`.
"""

from __future__ import annotations

import re

_STRING = re.compile(r"(?i)(?<![a-z0-9_])([rbuft]{0,2})(\"\"\"|'''|\"|')")
_GENERIC = re.compile(r"(?<!\w)(?:def|class)[ \t]+\w+[ \t]*(?=\[)")
_ALIAS = re.compile(r"type[ \t]+(\w+)[ \t]*(?=\[|=(?!=))")
_EXCEPT = re.compile(r"except\b(?![ \t]*\*)")
_HINT = re.compile(r"\w[ \t]*\[|\btype[ \t]|\bexcept\b|[ft][rb]?[\"']", re.I)
"""What a text has that could be written in newer syntax; prose is seldom read twice."""
_OPENING, _CLOSING = "([{", ")]}"


def in_older_syntax(source: str) -> str:
    """The text in older syntax, as long as before; what it does not know, it leaves."""
    if not _HINT.search(source):
        return source
    text = _Text(source)
    text.code(0, "")
    return "".join(text.out)


class _Text:
    """A text that is being read, and what it becomes."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.out = list(source)

    def code(self, at: int, until: str) -> int:
        """Read code up to one of the characters of `until` outside of brackets; where that is, or
        the end of the text."""
        depth, begins = 0, not until
        while at < len(self.source):
            here = self.source[at]
            if depth == 0 and here in until:
                return at
            if begins and not here.isspace():
                begins = False
                at = self._statement(at)
                continue
            string = _STRING.match(self.source, at)
            if here == "#":
                at = self._line_end(at)
            elif string:
                at = self._string(string)
            elif found := _GENERIC.match(self.source, at):
                at = self._left_out(found.end())
            elif here == "\\":
                at += 2
            else:
                depth = max(0, depth + (here in _OPENING) - (here in _CLOSING))
                begins = not until and depth == 0 and (here in "\n;" or (begins and here.isspace()))
                at += 1
        return at

    def _statement(self, at: int) -> int:
        """What only stands at the beginning of a statement; where to read on."""
        if found := _ALIAS.match(self.source, at):
            after = found.end()
            self.out[at:after] = found[1].ljust(after - at)
            return self._left_out(after) if self.source[after] == "[" else after
        if found := _EXCEPT.match(self.source, at):
            end = self.code(found.end(), ":,\n")
            while self.source[end : end + 1] == ",":
                self.out[end] = "|"
                end = self.code(end + 1, ":,\n")
            return end
        word = re.compile(r"\w*").match(self.source, at)
        generic = _GENERIC.match(self.source, at) or _STRING.match(self.source, at)
        return at if generic or word is None or word.end() == at else word.end()

    def _line_end(self, at: int) -> int:
        end = self.source.find("\n", at)
        return len(self.source) if end < 0 else end

    def _left_out(self, at: int) -> int:
        """Blank the brackets that begin here, if they end; the lines that they span become one."""
        end = self.code(at + 1, "]") + 1
        if end > len(self.source):
            return end
        for n in range(at, end):
            joins = self.source[n + 1 : n + 2] == "\n" and n + 1 < end
            self.out[n] = "\n" if self.source[n] == "\n" else "\\" if joins else " "
        return end

    def _string(self, opening: re.Match[str]) -> int:
        """Read a string; where it ends."""
        kind, quote = opening[1].lower(), opening[2]
        if "t" in kind:
            self.out[opening.start() + kind.index("t")] = "f"
        formatted, at = bool({"f", "t"} & {*kind}), opening.end()
        while at < len(self.source) and not self.source.startswith(quote, at):
            here = self.source[at]
            if here == "\n" and len(quote) == 1:
                return at
            if here == "\\" or (formatted and self.source.startswith(("{{", "}}"), at)):
                at += 2
            elif formatted and here == "{":
                end = self._field(at)
                self._requoted(at, end, quote)
                at = end
            else:
                at += 1
        return min(at + len(quote), len(self.source))

    def _field(self, at: int) -> int:
        """Read a field, its format and the fields in that; where it ends."""
        at = self.code(at + 1, ":}")
        while at < len(self.source) and self.source[at] != "}":
            at = self._field(at) if self.source[at] == "{" else at + 1
        return min(at + 1, len(self.source))

    def _requoted(self, start: int, stop: int, quote: str) -> None:
        """What may not stand in a field of an older f-string: its quotes, and backslashes."""
        other = "'" if quote == '"' else '"'
        for n in range(start, stop):
            if self.source[n] == "\\" and self.source[n + 1 : n + 2] not in ("", "\n"):
                self.out[n] = "_"
                if not self.source[n + 1].isalnum():
                    self.out[n + 1] = "_"
            elif self.out[n] == quote:
                self.out[n] = other
