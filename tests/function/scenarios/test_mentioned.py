"""Constants that code mentions, its own and those that it reads."""

from __future__ import annotations

import ast
from random import Random

from refute.function.scenarios.mentioned import mentioned
from refute.source.syntax import find_function

TEXT = """
import re
TABLE = {"kilo": 1000}
UNREAD = "never"
WORDS = [MANY]

class Tag:
    OPEN = "<<"
    def read(self, text):
        if text.startswith(self.OPEN) or text in TABLE or text in WORDS:
            return re.match(r"(\\d+)px", text)
        return "own"
""".replace("MANY", ", ".join(repr(f"word{n}") for n in range(100)))


def test_own_ones_first_then_matches_then_what_is_read() -> None:
    tree = ast.parse(TEXT)
    node = find_function(tree, "Tag.read")
    assert node is not None
    numbers, texts = mentioned(tree, [node], "Tag", Random(1))
    assert "1000" in numbers
    assert {"'own'", "'<<'", "'kilo'"} <= set(texts)
    assert any(ast.literal_eval(one).endswith("px") for one in texts)
    assert texts.index("'own'") < texts.index("'kilo'")
    assert "'never'" not in texts
    assert "'word5'" not in texts  # a table of that size is data
