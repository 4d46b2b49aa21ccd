"""Sources, the cut of a function out of its module, the filters, and contamination."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from refute.errors import InputError
from refute.sandbox.pool import SandboxPool
from refute_lab.train.data import Candidates, DataSettings
from refute_lab.train.filters import (
    Extract,
    Index,
    Raw,
    Solution,
    Text,
    admitted,
    code_tokens,
    evaluation_texts,
    extracted,
    fingerprint,
    read_source,
    works,
)

CHAT = """Here you are.

```python
import math
import os

def area(r):
    # a circle
    return half(math.pi) * 2 * r * r

def half(x):
    return x / 2

print(area(3))
```
"""
CUT = """import math


def area(r):
    # a circle
    return half(math.pi) * 2 * r * r


def half(x):
    return x / 2
"""


def lines(path: Path, *rows: object) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


# -- sources ---------------------------------------------------------------------------------------


def test_rows_and_chats(tmp_path: Path) -> None:
    chat = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "In Python: the area"},
        {"role": "assistant", "content": "Which?"},
        {"role": "user", "content": "of a circle."},
        {"role": "assistant", "content": CHAT},
    ]
    source = lines(
        tmp_path / "rows.jsonl",
        {"id": 7, "messages": chat, "source": "flan", "license": "odc-by"},
        {"task_id": "a", "prompt": "Double.", "canonical_solution": "def f(x): return 2 * x"},
        {"messages": "broken", "id": "c"},
        {"question": "?"},
    )
    first, second, third, fourth = read_source(source)
    assert first.description == "In Python: the area\n\nof a circle."
    assert (first.id, first.answer, first.chat) == ("7", CHAT, True)
    assert (first.origin, first.licence) == ("flan", "odc-by")
    assert second == Raw("a", "Double.", "def f(x): return 2 * x", False)
    assert third.answer == ""
    assert (fourth.id, fourth.answer) == ("row-4", "")


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    table = pyarrow.table(
        {"instruction": ["Double."] * 300, "output": ["def f(x): return 2*x"] * 300}
    )
    parquet.write_table(table, path)
    found = list(read_source(str(path)))
    assert len(found) == 300
    assert found[299].id == "row-300"
    assert found[0].answer == "def f(x): return 2*x"
    path.write_text("no parquet")
    with pytest.raises(InputError, match="not a Parquet file"):
        list(read_source(str(path)))


def test_folder_of_functions(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "helper.py").write_text('def g(x):\n    "No."\n    return x\n')
    (tmp_path / "broken.py").write_text("def (")
    (tmp_path / "m.py").write_text(
        'def f(x):\n    "Double x."\n    return 2 * x\n\n\ndef _hidden(x):\n    return x\n'
    )
    broken, found = read_source(str(tmp_path))
    assert broken == Raw("broken.py", "", "", False)
    assert (found.id, found.description, found.entry_point) == ("m.py::f", "Double x.", "f")
    before = fingerprint(str(tmp_path))
    assert before == fingerprint(str(tmp_path))
    (tmp_path / "m.py").write_text("def f(x): return x")
    assert before != fingerprint(str(tmp_path))


def test_no_such_source(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such source"):
        list(read_source(str(tmp_path / "missing.jsonl")))
    with pytest.raises(InputError, match="holds no Python files"):
        list(read_source(str(tmp_path)))


# -- the function, cut out of its module -----------------------------------------------------------


def test_cut_leaves_behind_what_is_not_needed() -> None:
    found = extracted(CHAT.split("```")[1].removeprefix("python\n"), None, "The area of a circle.")
    assert found == Extract("area", "area(r)", CUT, "")


def test_cut_keeps_what_a_name_depends_on() -> None:
    code = (
        "from __future__ import annotations\n"
        "try:\n    import numpy as np\nexcept ImportError:\n    np = None\n"
        "A = 1\nB, C = A + 1, 0\nUNUSED = np\n"
        "class K:\n    def m(self): return C\n"
        "@staticmethod\ndef f(x=A): return K().m() + B\n"
    )
    found = extracted(code, "f", "")
    assert isinstance(found, Extract)
    assert "UNUSED" not in found.code
    assert "numpy" not in found.code
    for kept in ("__future__", "A = 1", "B, C =", "class K", "@staticmethod"):
        assert kept in found.code


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def f(:", "does not parse"),
        (f"def f(x): return {'-' * 5000}x", "does not parse"),
        (f"def f(x): return {'x + ' * 5000}x", "does not parse"),
        ("x = 1", "no single entry point"),
        ("def f(x): return x\ndef g(x): return x", "no single entry point"),
        ("async def f(x): return x", "async or a generator"),
        ("def f(x): yield x", "async or a generator"),
        ("def f(): return 1", "takes no arguments"),
        ("def f(x): print(x)", "returns nothing"),
        ("def f(x): return input(x)", "uses more than its arguments"),
        ("import random\ndef f(x): return random.choice(x)", "uses more than its arguments"),
        ("def f(x): return os.listdir(x)\nimport os", "uses more than its arguments"),
    ],
)
def test_functions_that_cannot_be_tested(code: str, reason: str) -> None:
    assert extracted(code, None, "Do it.") == reason


def test_the_description_names_the_function() -> None:
    code = "def f(x): return x\ndef g(x): return x"
    found = extracted(code, None, "Write g, please.")
    assert isinstance(found, Extract)
    assert found.entry_point == "g"


# -- filters ---------------------------------------------------------------------------------------


def raw(description: str = "Double x.", answer: str = "", *, chat: bool = False) -> Raw:
    return Raw("1", description, answer or "def f(x):\n    return 2 * x\n", chat)


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (raw(answer=" "), "no solution"),
        (raw("Double \udc00 x."), "not valid unicode"),
        (raw(answer="```\ndef f(x): return x\n```", chat=True), "not about Python"),
        (raw(answer="In Python: x * 2", chat=True), "defines no function"),
        (raw("\n "), "no description"),
        (raw(answer="In Python, def is a keyword.\n```python\nx\n```", chat=True), "no program"),
        (raw("Double x. " * 1000), "prompt too long"),
    ],
)
def test_texts_that_fall_out(task: Raw, reason: str) -> None:
    found = admitted(task)
    assert found.startswith(reason)


def checked(task: Raw, pool: SandboxPool) -> str | None:
    found = admitted(task)
    assert isinstance(found, Solution), found
    return asyncio.run(works(found, pool))


def test_code_has_to_run(pool: SandboxPool) -> None:
    fence = "A Python answer.\n```python\n{}\n```"
    body = "def f(x):\n    return 2 * x\n"
    assert checked(raw(), pool) is None
    assert checked(raw(answer=fence.format(body + "print(f(3))"), chat=True), pool) is None
    wrong = raw(answer=fence.format(body + "f(1, 2)"), chat=True)
    assert checked(wrong, pool) == "does not run: TypeError"
    missing = raw(answer="import no_such_module_at_all as m\n\ndef f(x):\n    return m.f(x)\n")
    assert checked(missing, pool) == "does not run: ModuleNotFoundError"
    leaves = raw(answer=fence.format(body + "__import__('os')._exit(0)"), chat=True)
    assert checked(leaves, pool) == "does not run: it is cut short"


def test_code_has_to_agree_with_its_description(pool: SandboxPool) -> None:
    assert checked(raw("Double.\n\n>>> f(2)\n4\n"), pool) is None
    reason = "fails an example of its description"
    assert checked(raw("Double.\n\n>>> f(2)\n5\n"), pool) == reason


# -- contamination ---------------------------------------------------------------------------------

TEN = "one two three four five six seven eight nine ten"  # six 5-grams


def index(description: str = TEN, code: str = "") -> Index:
    return Index([Text("set/1", description, code)])


def test_jaccard_of_words() -> None:
    assert index().nearest(TEN.upper() + "!", "").value == 1.0  # type: ignore[union-attr]
    near = f"{TEN} eleven twelve"  # 6 of 8
    match = index().nearest(near, "")
    assert (match.part, match.measure, match.value) == ("description", "jaccard", 6 / 8)
    at = f"{TEN} a b c d e f"  # 6 of 12, the threshold itself
    assert index().nearest(at, "") is not None
    assert index().nearest(f"{at} g", "") is None


def test_containment_of_words() -> None:
    words = " ".join(f"w{i}" for i in range(12))  # eight 5-grams
    longer = " ".join(f"x{i}" for i in range(50)) + f" {words} " + "and so on and on and on"
    match = index(words).nearest(longer, "")
    assert (match.measure, match.value) == ("containment", 1.0)
    few = (
        " ".join(f"x{i}" for i in range(50)) + f" {TEN}"
    )  # too few n-grams for containment to mean something
    assert index().nearest(few, "") is None


def test_code_is_compared_without_its_names() -> None:
    code = (
        "def total(values):\n    'Add up.'\n    result = 0\n    for value in values:\n"
        "        if value > 0:\n            result += value\n    return result\n"
    )
    renamed = code.replace("value", "x").replace("result", "acc").replace("'Add up.'", "# sum\n")
    assert code_tokens(code) == code_tokens(renamed)
    match = index("a b c d e f", code).nearest("something else entirely it is", renamed)
    assert (match.part, match.value) == ("code", 1.0)
    assert index("a b c", "def f(:").nearest("d e f", "def f(:") is None


def test_evaluation_problems_fall_out_and_are_counted(tmp_path: Path) -> None:
    key = {"id": "E1", "entry_point": "g", "code": "def g(x):\n    return 3 * x\n"}
    own = "Return the triple of the number that is given, whatever its sign may be."
    problems = lines(
        tmp_path / "eval.jsonl",
        {**key, "description": own, "reference": key["code"], "inputs": [[1]]},
    )
    source = lines(
        tmp_path / "rows.jsonl",
        {"id": "a", "description": own, "solution": "def t(n):\n    return n + n + n\n"},
        {
            "id": "b",
            "description": "Double the number.",
            "solution": "def d(n):\n    return n + n\n",
        },
        {"id": "c", "description": "Twice it.", "solution": "def d(n):\n    return n + n\n"},
        {"id": "b", "description": "Halve it.", "solution": "def h(n):\n    return n / 2\n"},
    )
    candidates = Candidates(source, Index(evaluation_texts([problems])), DataSettings())
    assert [one.id for one in candidates] == ["b", "b~2"]
    assert candidates.read == 4
    assert candidates.dropped == {"near an evaluation problem": 1, "duplicate code": 1}
    [(name, match)] = candidates.contaminated
    assert name == "a"
    assert match.name.endswith("eval.jsonl E1")


def test_shards_share_no_task_and_miss_none(tmp_path: Path) -> None:
    row = {"description": "Add.", "solution": "def f{0}(n):\n    return n + {0}\n"}
    rows = [{"id": n, **{k: v.format(n // 2) for k, v in row.items()}} for n in range(40)]
    source = lines(tmp_path / "rows.jsonl", *rows)
    whole = Candidates(source, Index([]), DataSettings())
    names = [one.id for one in whole]
    parts = [Candidates(source, Index([]), DataSettings(shard=f"{k}/3")) for k in (1, 2, 3)]
    found = [[one.id for one in part] for part in parts]
    assert all(found)
    assert sorted(name for part in found for name in part) == sorted(names), (
        "equal answers meet in one shard"
    )
    assert sum(part.read for part in parts) == whole.read == 40
    for bad in ("0/3", "4/3", "1", "a/b"):
        with pytest.raises(InputError, match="must be K/N"):
            DataSettings(shard=bad)


def test_humaneval_recognises_itself(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUTE_DATA", str(data_dir))
    texts = list(evaluation_texts(["humaneval+"]))[:40]
    known = Index(texts)
    for text in texts:
        match = known.nearest(f"Please write this in Python:\n\n{text.description}", "")
        assert match.value >= 0.5
