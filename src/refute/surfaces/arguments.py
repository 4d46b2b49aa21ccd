"""What an agent may say to each verb: declared once, for the schema, the check and the call.

Text (an issue, a patch) is handed over as text, so that nothing need be written for it; files are
named relative to the folder that the server was started in.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

WRITING = frozenset({"write_tests_to", "apply"})
"""Arguments that write into the checkout: taken only by a server that was told to take them."""

_Seconds = Annotated[float, Meta(gt=0, le=86_400)]
_Repo = Annotated[
    str, Meta(description="Folder of the git checkout, relative to the server's folder.")
]
_Python = Annotated[
    str,
    Meta(
        description="The project's interpreter, such as .venv/bin/python; empty: the active one, "
        "or .venv's."
    ),
]
_Limit = Annotated[
    _Seconds,
    Meta(
        description="Seconds that the call may take. Where time is up, verbs over functions return "
        "what they found by then and say `complete: false`."
    ),
]


class Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all verbs take."""

    time_limit: _Limit = 300.0
    python: _Python = ""


class _OverFunctions(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    targets: Annotated[
        str | list[str],
        Meta(
            description="What to look at: FILE.py::FUNCTION, FILE.py::Class.method, FILE.py, a "
            "folder, pkg.mod or pkg.mod:FUNCTION; one or several. May be empty where `since` is "
            "given."
        ),
    ] = ""
    since: Annotated[
        str,
        Meta(
            description="A commit: only public functions that changed since then, in the working "
            "tree."
        ),
    ] = ""
    tests_file: Annotated[
        str,
        Meta(
            description="Tests to believe, besides doctests and examples in docstrings: a pytest "
            "or JSONL file."
        ),
    ] = ""
    description: Annotated[
        str, Meta(description="What the function should do; empty: its docstring says it.")
    ] = ""
    seconds_per_function: Annotated[_Seconds, Meta(description="Time for one function.")] = 10.0


class FindFailingInput(_OverFunctions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `find_failing_input`."""

    most: Annotated[
        int, Meta(ge=1, le=100, description="Failing tests of one function to look for.")
    ] = 3
    write_tests_to: Annotated[
        str,
        Meta(
            description="Write the failing tests there, as a new pytest file or into an existing "
            "folder; empty: nothing is written."
        ),
    ] = ""


class DebugFunction(_OverFunctions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `debug_function`."""

    proposed: Annotated[
        bool,
        Meta(description="Count a fix that is only proposed (not shown to be right) as a fix."),
    ] = False
    apply: Annotated[
        bool,
        Meta(description="Apply the fixes to the files; what is only proposed with `proposed`."),
    ] = False


class ReproduceIssue(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `reproduce_issue`."""

    issue: Annotated[
        str,
        Meta(
            min_length=1,
            description="The issue's text: title, a line feed, body. Sessions (>>>), scripts and "
            "tracebacks in it are what is worked from.",
        ),
    ]
    repo: _Repo = "."
    apply: Annotated[
        bool,
        Meta(description="Add the test to the checkout; only one that was seen to fail."),
    ] = False
    time_limit: _Limit = 900.0


class VetPatch(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `vet_patch`."""

    patch: Annotated[
        str,
        Meta(
            min_length=1,
            description="The fix as a unified diff (git diff) against the checkout as it is now, "
            "or against the commit that `against` names; it is not applied to the checkout.",
        ),
    ]
    issue: Annotated[
        str, Meta(min_length=1, description="The issue's text: what the fix is to mend.")
    ]
    tests: Annotated[
        str | dict[str, str],
        Meta(
            description="Tests that reproduce the issue: a unified diff against the checkout, or "
            "the text of whole test files by their path from the root of the repository; empty: "
            "they are written as `reproduce_issue` does."
        ),
    ] = ""
    against: Annotated[
        str,
        Meta(
            description="The commit that the patch is a diff of: HEAD where you have edited the "
            "files already and the patch is what `git diff HEAD` prints; empty: the checkout as it "
            "is."
        ),
    ] = ""
    neighbours: Annotated[
        int, Meta(ge=0, le=100, description="Existing test files to run for regressions.")
    ] = 5
    behaviour: Annotated[
        bool, Meta(description="Also look for what else the fix changes in behaviour.")
    ] = True
    repo: _Repo = "."
    time_limit: _Limit = 900.0


class CompareBehaviour(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `compare_behaviour`."""

    revisions: Annotated[
        str,
        Meta(
            description="BASE (against the working tree), BASE..HEAD, BASE...HEAD (from the merge "
            "base); empty: HEAD against the working tree."
        ),
    ] = ""
    about: Annotated[
        str, Meta(description="What the change is for, besides its commit messages.")
    ] = ""
    seconds_per_function: Annotated[_Seconds, Meta(description="Time for one function.")] = 5.0
    repo: _Repo = "."


class CheckTestsRedGreen(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `check_tests_red_green`."""

    tests: Annotated[
        str | list[str],
        Meta(
            description="Test files or ids (tests/test_x.py::test_a), relative to the root of the "
            "repository; empty: the test files that the change adds or edits."
        ),
    ] = ""
    base: Annotated[
        str,
        Meta(
            description="The commit before the change; empty: HEAD where the working tree has "
            "changes that are not committed, else where the branch left the main one."
        ),
    ] = ""
    head: Annotated[
        str, Meta(description="The commit after the change; empty: the working tree as it is.")
    ] = ""
    repo: _Repo = "."
    time_limit: _Limit = 900.0


class CheckFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an editor asks about one file."""

    file: str
    python: str = ""
    seconds_per_function: float = 5.0
    time_limit: float = 300.0
