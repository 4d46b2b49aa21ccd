"""Which files of a repository an issue is likely about."""

from __future__ import annotations

from refute.issue.context import estimated_tokens, numbered, ranked
from refute_lab.baselines.methods.zeroshot import relevant

FILES = {
    "pkg/parser.py": "def parse_header(line):\n    return line.split(':')\n" * 5,
    "pkg/writer.py": "def write(row):\n    return ','.join(row)\n" * 5,
    "pkg/util.py": "x = 1\n",
    "tests/test_parser.py": "from pkg.parser import parse_header\n\ndef test_it():\n    pass\n",
    "empty.py": "",
}


def test_files_about_the_issue_come_first() -> None:
    order = ranked("parse_header fails when the line has no colon", FILES)
    assert set(order[:2]) == {"pkg/parser.py", "tests/test_parser.py"}
    assert sorted(order) == sorted(FILES)


def test_what_is_shown_fits() -> None:
    files = {f"m{i}.py": f"def thing_{i}():\n    return {i}\n" * 40 for i in range(20)}
    shown = relevant("thing_3 and thing_7", files, tokens=2000)
    assert {"m3.py", "m7.py"} <= {file.path for file in shown}
    assert sum(estimated_tokens(numbered(file.text)) for file in shown) <= 2000
    assert all(file.text == files[file.path] for file in shown), "files are shown whole"


def test_a_file_that_does_not_fit_is_passed_over() -> None:
    files = {"big.py": "needle needle needle\n" * 3000, "small.py": "needle\n" + "x = 1\n" * 3}
    assert [file.path for file in relevant("needle", files, tokens=500)] == ["small.py"]


def test_given_files_lead_and_are_cut_to_fit() -> None:
    shown = relevant("writer", FILES, first=("pkg/util.py", "missing.py"))
    assert shown[0].path == "pkg/util.py"
    assert [file.path for file in shown].count("pkg/util.py") == 1
    (cut,) = relevant("q", {"big.py": "line of text\n" * 1000}, tokens=300, first=("big.py",))
    assert 10 < cut.text.count("\n") < 100
    assert estimated_tokens(numbered(cut.text)) <= 300
