"""The searches over code, on sources that are written here."""

from __future__ import annotations

import pytest

from refute_lab.baselines.methods.autocoderover import LONGEST, CodeSearch

FORMS = '''"""Forms."""

import re


class Field:
    """A field."""

    empty = (None, "")

    def __init__(self, label=None):
        self.label = label

    @property
    def name(self):
        return self.label or "?"

    def clean(self, value):
        def inner():
            return value
        return inner()


def clean(value):
    return value.strip()
'''
BROKEN = """class Old:
    def clean(self, value):
        print value
        return value

    def other(self): pass

print "done"
"""
SOURCES = {
    "forms/fields.py": FORMS,
    "forms/old.py": BROKEN,
    "tests/fields.py": "from forms.fields import Field\n\n\nclass TestField:\n    pass\n",
    **{f"many/m{i}.py": "def same():\n    return 'needle'\n" for i in range(5)},
}


@pytest.fixture
def search() -> CodeSearch:
    return CodeSearch(SOURCES)


def test_a_class_is_outlined(search: CodeSearch) -> None:
    told = search.search("search_class", ["Field"])
    assert told.startswith("There is 1 of class Field:\n<file>forms/fields.py</file> class Field")
    assert 'empty = (None, "")' in told
    assert "    @property\n    def name(self):\n    def clean(self, value):" in told
    assert "return inner" not in told
    whole = search.search("search_class_in_file", ["Field", "forms/fields.py"])
    assert "        return inner()\n</code>" in whole
    assert "def clean(value)" not in whole


def test_methods(search: CodeSearch) -> None:
    every = search.search("search_method", ["clean"])
    assert every.startswith("There are 3 of method clean:")
    assert "<file>forms/old.py</file> function clean of class Old, lines 2 to 4" in every
    one = search.search("search_method_in_class", ["clean", "Field"])
    assert one.startswith("There is 1 of method clean in class Field")
    assert "lines 18 to 21" in one
    assert "@property\n    def name" in search.search("search_method", ["Field.name"])
    assert "There is no class Nothing." in search.search(
        "search_method_in_class", ["clean", "Nothing"]
    )
    in_file = search.search("search_method_in_file", ["clean", "fields.py"])
    assert in_file.startswith("There are 2 of method clean in fields.py")
    assert "function inner, lines 19" in search.search("search_method", ["inner"])


def test_many_results_are_listed(search: CodeSearch) -> None:
    told = search.search("search_method", ["same"])
    assert told.count("<code>") == 3
    assert "- many/m3.py (1)\n- many/m4.py (1)" in told
    code = search.search("search_code", ["'needle'"])
    assert "stands in 5 places" in code
    assert code.count("<code>") == 3


def test_code_lines_and_heads(search: CodeSearch) -> None:
    code = search.search("search_code_in_file", ["return self.label", "forms/fields.py"])
    assert "lines 13 to 19" in code
    assert "The code does not stand anywhere" in search.search("search_code", ["(.*"])
    around = search.search("get_code_around_line", ["forms/fields.py", "16", "1"])
    assert "lines 15 to 17" in around
    assert "16" not in search.search("get_code_around_line", ["forms/old.py", "3"]).split("\n")[0]
    assert "has 8 lines" not in search.search("get_code_around_line", ["forms/old.py", "8"])
    assert "forms/old.py has 9 lines." in search.search(
        "get_code_around_line", ["old.py", "1000", "3"]
    )
    assert "numbers" in search.search("get_code_around_line", ["old.py", "one"])
    heads = search.search("get_file_head", ["fields.py"])
    assert heads.count("<file>") == 2
    assert "from forms.fields import Field" in heads


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("search_everything", ["x"], "There is no search"),
        ("search_class", [], "it is search_class(class_name)"),
        ("search_class", ["a", "b"], "Wrong number"),
        ("search_code", ["  "], "An argument is empty"),
        ("search_class", ["../etc"], "There is no class /etc."),
        ("search_class", ["x" * 9], "There is no class"),
        ("get_file_head", ["/etc/passwd"], "There is no Python file /etc/passwd."),
        ("search_method_in_file", ["clean", "none.py"], "There is no Python file none.py."),
        ("search_class", ["clean"], "There is no class clean."),
    ],
)
def test_what_is_not_there(search: CodeSearch, name: str, arguments: list[str], told: str) -> None:
    assert told in search.search(name, arguments)


def test_hostile_sources_are_searched() -> None:
    sources = {
        "deep.py": "def deep():\n    x = " + "(" * 5_000 + "\n",
        "null.py": "def null():\n    x = '\0'\n",
        "long.py": "def long():\n" + "    x = 1\n" * 10_000,
        "ends.py": "def ends():\r\n    return 1\r\n",
        "noisy.py": 'def noisy():\n    return "\\d"\n',
    }
    search = CodeSearch(sources)
    for path in sources:
        name = path.removesuffix(".py")
        told = search.search("search_method", [name])
        assert told.startswith(f"There is 1 of method {name}"), told[:200]
        assert len(told) < LONGEST + 500
        assert "\r" not in told
