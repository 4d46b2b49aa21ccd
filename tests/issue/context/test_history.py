"""Which files were changed together: from a real repository, never past the base commit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from refute.issue.redgreen.locate import NO_HISTORY, History, likely_files, read_history, view_of

from ...diffing.repositories import git
from ..projects import FILES, Project, make_project

AMONG = frozenset({"tests/test_line.py", "tests/test_colour.py"})


def commit(project: Project, *paths: str) -> str:
    """Change files in one commit; returns its hash."""
    for path in paths:
        place = project.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(place.read_text() + "# more\n" if place.exists() else "pass\n")
    git(project.folder, "add", ".")
    git(project.folder, "commit", "-qm", "change")
    return git(project.folder, "rev-parse", "HEAD")


def test_files_of_commits_up_to_the_base(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    odd = "tests/test ü\n.py"
    commit(project, "shapes/line.py", "tests/test_colour.py", odd)
    base = commit(project, "shapes/line.py")
    commit(project, "shapes/line.py", "tests/test_line.py")
    history = read_history(replace(project.problem, base_commit=base))
    assert [files - FILES.keys() for files in history.commits] == [{odd}]
    assert history.beside(["shapes/line.py"], AMONG) == ["tests/test_colour.py"]


def test_a_program_that_the_repository_names_is_not_run(tmp_path: Path) -> None:
    project = make_project(tmp_path / "shapes")
    commit(project, "shapes/line.py", "tests/test_line.py")
    proof, evil = tmp_path / "proof", tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {proof}\n")
    evil.chmod(0o755)
    mark = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n"
    head, _, message = git(project.folder, "cat-file", "commit", "HEAD").partition("\n\n")
    (tmp_path / "signed").write_text(f"{head}\n{mark}\n{message}")
    options = ("-t", "commit", "-w", str(tmp_path / "signed"))
    signed = git(project.folder, "hash-object", *options)
    for name in ("gpg.program", "gpg.ssh.program", "gpg.x509.program"):
        git(project.folder, "config", name, str(evil))
    git(project.folder, "config", "log.showSignature", "true")
    git(project.folder, "log", "-1", signed)
    assert proof.exists(), "git as it is runs it"
    proof.unlink()
    found = read_history(replace(project.problem, base_commit=signed)).commits
    assert found == (frozenset({"shapes/line.py", "tests/test_line.py"}),)
    assert not proof.exists()


def test_without_a_clone_there_is_no_history(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    for wrong in (
        replace(project.problem, repo="nobody/has-this"),
        replace(project.problem, repo=str(tmp_path / "away")),
        replace(project.problem, base_commit="0" * 40),
        replace(project.problem, base_commit="--all"),
    ):
        assert read_history(wrong) == NO_HISTORY


def test_what_was_changed_together_is_listed_and_shown() -> None:
    tests = {f"tests/t{n}/tests.py": f"def test_{n}():\n    assert {n}\n" for n in range(60)}
    files = {"shapes/line.py": FILES["shapes/line.py"], **tests}
    history = History((frozenset({"shapes/line.py", "tests/t57/tests.py"}),))
    likely = likely_files("clamp is wrong", files, history)
    assert "tests/t57/tests.py" in likely.tests[:3]
    answer = "CODE: shapes/line.py: clamp"
    plain = view_of("clamp is wrong", files, likely_files("clamp is wrong", files), answer, 4000)
    assert "tests/t57/tests.py" not in plain.tests
    shown = view_of("clamp is wrong", files, likely, answer, 4000, history=history)
    assert shown.tests[0] == "tests/t57/tests.py"
