"""The version that a repository's build would read from its tags.

The tree that is built has no history (`commit_tree`), so what derives a version from git would find
none, or 0.1. The tags of the past are in the clone: what they say is handed to the build in the
variables that such tools read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from refute.workspace.gitrun import GitFailed
from refute.workspace.infer import Reader
from refute.workspace.repositories import Clone

_TOOLS = {
    r"setuptools[-_]scm|hatch-vcs|flit[-_]scm": "SETUPTOOLS_SCM_PRETEND_VERSION",
    r"\bpbr\b": "PBR_VERSION",
    r"poetry-dynamic-versioning": "POETRY_DYNAMIC_VERSIONING_BYPASS",
    r"source\s*=\s*[\"']scm[\"']": "PDM_BUILD_SCM_VERSION",
}
"""What names such a tool in a repository's build files, and the variable that the tool reads."""


def version_variables(read: Reader, clone: Clone, commit: str) -> Mapping[str, str]:
    """The variables for a build at the commit; none where its build reads no tags, or there are
    none."""
    names = ("pyproject.toml", "setup.cfg", "setup.py")
    said = "\n".join(text for text in map(read, names) if text)
    wanted = [variable for pattern, variable in _TOOLS.items() if re.search(pattern, said)]
    version = version_at(clone, commit) if wanted else ""
    return dict.fromkeys(wanted, version) if version else {}


def version_at(clone: Clone, commit: str) -> str:
    """The version by the last tag before a commit: the tag's own, or the next one's `.devN`.

    "" where no tag of the past is a version.
    """
    try:
        options = ("--tags", "--long", "--match", "*[0-9].[0-9]*")
        told = clone.git("describe", *options, commit).decode("utf-8", "replace").strip()
    except GitFailed:
        return ""
    match = re.fullmatch(r"(?:.*?[-_/]|v)?v?(\d+(?:\.\d+)*)(\S*)-(\d+)-g[0-9a-f]+", told)
    if match is None:
        return ""
    numbers, rest, distance = match[1], match[2], int(match[3])
    if distance == 0 and not rest:
        return numbers
    if rest:  # a pre-release such as 6.0.0rc1: what follows it is still before 6.0.0
        return f"{numbers}.dev{distance}"
    *head, last = numbers.split(".")
    return ".".join((*head, str(int(last) + 1))) + f".dev{distance}"
