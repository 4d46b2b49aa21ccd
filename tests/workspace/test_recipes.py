"""Recipes from rows and from repositories: right, and without a word of the golden tests."""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

import pytest

from refute.errors import InputError
from refute.workspace.infer import infer_recipe, infer_requirements, name_of
from refute_lab.swt.workspaces import environment_of, options_of, recipe_of_row

SCRIPT = """#!/bin/bash
source /opt/miniconda3/bin/activate
cd /testbed
git checkout abc tests/golden_tests.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/golden_tests.py b/tests/golden_tests.py
+pytest tests/golden_tests.py
EOF_114329324912
./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 golden.tests -k golden
git checkout abc tests/golden_tests.py
"""


def test_no_golden_test_is_named() -> None:
    row = {
        "instance_id": "django__django-1", "repo": "django/django", "version": "4.2",
        "created_at": "2022-10-01T00:00:00Z", "eval_script": SCRIPT,
    }  # fmt: skip
    recipe = recipe_of_row(row)
    assert "golden" not in repr(recipe)
    assert (recipe.runner, recipe.options) == ("django", ("--settings=test_sqlite",))
    assert (recipe.python, recipe.before) == ("", "2022-10-01")
    assert recipe.image == "swebench/sweb.eval.x86_64.django_1776_django-1:latest"
    commands = (
        "pytest -rA golden.py::test_a -k golden -m golden --deselect golden --lf=golden",
        "python -m pytest -W ignore::golden:x tests/golden.py -c golden.ini --rootdir golden",
        "pytest -p golden/x.py -p no:cacheprovider --ignore=golden '--foo' golden -o 'a=b/golden'",
        "pytest --settings='golden test' 'unbalanced",
    )
    for command in commands[0:1] + commands[2:]:
        assert "golden" not in repr(options_of(command)), command
    assert options_of(commands[1]) == ("-W", "ignore::golden:x")
    assert options_of(commands[2]) == ("-p", "no:cacheprovider")


def test_no_row_of_the_data_names_its_tests(data_dir: Path) -> None:
    with gzip.open(data_dir / "swebench-lite.dev.jsonl.gz") as file:
        rows = file.read().splitlines()
    assert len(rows) > 80
    for line in rows:
        row = json.loads(line)
        shown = repr(recipe_of_row(row)).replace(row["instance_id"].replace("__", "_1776_"), "")
        files = re.findall(r"^\+\+\+ b/(\S+)", row["test_patch"], re.MULTILINE)
        for path in files:
            assert path not in shown
            assert path.removeprefix("tests/").removesuffix(".py").replace("/", ".") not in shown
        for test in row["FAIL_TO_PASS"]:
            assert test not in shown
            name = re.search(r"test_\w+", test)
            assert name is None or name[0] == "test_sqlite" or name[0] not in shown


def test_environment_in_any_form() -> None:
    environment = {"python": "3.9", "pins": [["a==1"], ["b==2", "c"]], "editable": True,
                   "env": {"A": "1", "URL": "http://x:<port>/"},
                   "test_command": "python -m pytest -p no:x tests/test_a.py"}  # fmt: skip
    made = [
        recipe_of_row({"instance_id": "i", "environment": form})
        for form in (environment, json.dumps(environment), repr(environment))
    ]
    assert made[0] == made[1] == made[2]
    assert made[0].pins == (("a==1",), ("b==2", "c"))
    assert made[0].env == {"A": "1"}
    assert made[0].options == ("-p", "no:x")
    assert recipe_of_row({"instance_id": "i", "environment": environment_of(made[0])}) == made[0]
    open_ended = recipe_of_row({"instance_id": "i", "environment": {"before": "2024-05-01T01:02"}})
    assert (open_ended.python, open_ended.pins, open_ended.before) == ("", (), "2024-05-01")
    wrongs = ({"python": 3}, {"python": "3.9", "pins": "a"}, {"before": "May"}, {"before": 2024})
    for wrong in ("no object", "[1]", *wrongs):
        with pytest.raises(InputError, match="i: `environment`"):
            recipe_of_row({"instance_id": "i", "environment": wrong})
    with pytest.raises(InputError, match="no recipe"):
        recipe_of_row({"instance_id": "i"})


def test_requirements_of_a_repository() -> None:
    files = {
        "pyproject.toml": '[build-system]\nrequires=["flit_core>=3"]\n[project]\n'
        'dependencies=["click>=8"]\n[project.optional-dependencies]\ntests=["hypothesis"]\n'
        'docs=["sphinx"]\n',
        "setup.cfg": "[options]\ninstall_requires =\n    attrs>=19\n    # none\n"
        "[options.extras_require]\ntesting =\n    mock\ndoc =\n    sphinx\n",
        "setup.py": "needs = ['six', 'toml; python_version<\"3.9\"', 'wurlitzer>=%s' % least]\n"
        "setup(install_requires=needs, extras_require={'test': ['nose'], 'doc': ['x']})\n",
        "requirements/tests.txt": "-r base.txt\n-e .\npytest-cov==2.0  # coverage\n"
        "https://example.invalid/x.whl\n",
        "requirements/base.txt": "-r tests.txt\nblinker\n",
        "tox.ini": "[testenv]\ndeps =\n    lemma>=2\n    py27: mock==1\n    {env:X}\n"
        "[pytest]\naddopts = --timeout 9\n[other]\nx = --cov\n",
    }
    found = infer_requirements(files.get)
    assert found.build == ("pip", "setuptools", "wheel", "flit_core>=3")
    assert set(found.needed) == {
        "click>=8", "attrs>=19", "six", 'toml; python_version<"3.9"', "wurlitzer", "pytest>=3",
    }  # fmt: skip
    assert set(found.wanted) == {
        "hypothesis", "mock", "nose", "pytest-cov==2.0", "blinker", "pytest-timeout", "lemma>=2",
    }  # fmt: skip
    broken = {"pyproject.toml": "[[[", "setup.cfg": "no section", "setup.py": "def ("}
    assert infer_requirements(broken.get).needed == ("pytest>=3",)
    assert [name_of(one) for one in ("A_b.C[x]>=1", "d @ file:///x", "", "-r x")] == [
        "a-b-c", "d", "", "",
    ]  # fmt: skip


def test_a_users_own_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    recipe = infer_recipe(tmp_path)
    assert recipe.interpreter == sys.executable
    assert not recipe.editable
    (tmp_path / ".venv" / "lib").mkdir(parents=True)
    (tmp_path / ".venv" / "bin").mkdir()
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "src").mkdir()
    recipe = infer_recipe(tmp_path)
    assert recipe.interpreter == str(tmp_path / ".venv" / "bin" / "python")
    assert recipe.runner == "unittest"  # no pytest in there, and nothing speaks of it
    assert recipe.env["PYTHONPATH"].endswith("/src:<work tree>")
    (tmp_path / "tox.ini").write_text("[testenv]\ncommands = pytest\n")
    assert infer_recipe(tmp_path).runner == "pytest"
    (tmp_path / "sympy").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "sympy" / "__init__.py").write_text("")
    (tmp_path / "bin" / "test").write_text("sympy.test()\n")
    assert infer_recipe(tmp_path).runner == "sympy"
    (tmp_path / "bin" / "test").write_text("sympy.test(use_sympy_runner=x)  # else pytest\n")
    assert infer_recipe(tmp_path).runner == "pytest", "it is a matter of the commit"
    (tmp_path / "django").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "django" / "__init__.py").write_text("")
    (tmp_path / "tests" / "runtests.py").write_text("")
    assert infer_recipe(tmp_path).runner == "django"
