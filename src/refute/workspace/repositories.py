"""Run git on the trusted side, find the clone of a repository, and check commits out.

git runs without anybody's configuration, hooks or prompts.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from refute.core.starting import Variable
from refute.core.storage import ScratchFolder
from refute.errors import InputError, WorkspaceUnavailable
from refute.workspace.infer import Reader

_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false",
    "core.attributesFile=/dev/null", "core.autocrlf=false", "core.quotePath=true",
    "core.checkStat=minimal", "core.trustctime=false",  # an overlay has other inode numbers
    "protocol.allow=never", "gc.auto=0", "safe.directory=*",
    "log.showSignature=false", "gpg.program=false", "gpg.ssh.program=false",
    "gpg.x509.program=false",  # a repository may name a program that looks at its signatures
)  # fmt: skip
SAFE_OPTIONS = tuple(word for setting in _SETTINGS for word in ("-c", setting))
"""Options of every call: nothing that lies in a repository is run."""

QUIET = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
    "TZ": "UTC",
}
"""Environment variables of every call."""

PATCH = (
    "--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
    "--ignore-submodules=all", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
"""Options of git's diff commands for a patch that `git apply` takes anywhere."""


class GitFailed(Exception):
    """git ended with an error; the message is its last line."""


def git(
    *arguments: str | Path,
    folder: Path | None = None,
    given: bytes | None = None,
    env: Mapping[str, str | None] | None = None,
    options: Sequence[str] = (),
    timeout: float = 600.0,
) -> bytes:
    """Run git and return its stdout; `options` come before the verb; None in `env` unsets.

    Raises `GitFailed`, `WorkspaceUnavailable` (no git here).
    """
    command = ["git", *SAFE_OPTIONS, *options, *(os.fspath(a) for a in arguments)]
    variables: dict[str, str | None] = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        **QUIET,
    }
    variables |= env or {}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            input=given if given is not None else b"",
            capture_output=True,
            env={name: value for name, value in variables.items() if value is not None},
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError:
        raise WorkspaceUnavailable("git is not installed") from None
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git {arguments[0]}: no answer in {timeout:.0f} s") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise GitFailed(lines[-1])
    return done.stdout


_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Clone:
    """A clone on this machine; it is only ever read."""

    name: str
    """`owner/name`, or the path of a user's own."""
    git_dir: Path
    work_tree: Path | None
    """None for a bare clone."""

    def resolve(self, commit: str) -> str:
        """The full hash of a commit. Raises `WorkspaceUnavailable` when the clone lacks it."""
        if commit.startswith("-"):
            raise InputError(f"not a commit: {commit!r}")
        try:
            options = ("rev-parse", "--verify", "--quiet", "--end-of-options")
            found = self.git(*options, (commit or "HEAD") + "^{commit}")
        except GitFailed:
            raise WorkspaceUnavailable(
                f"{self.name}: the clone {self.git_dir} has no commit {commit or 'HEAD'}; fetch it"
            ) from None
        text = found.decode().strip()
        if not _SHA.fullmatch(text):
            raise WorkspaceUnavailable(f"{self.name}: git named {commit} {text!r}")
        return text

    def commit(self, revision: str) -> str:
        """The full hash of a commit that people name. Raises `InputError` where there is none."""
        try:
            return self.resolve(revision)
        except (WorkspaceUnavailable, ValueError):  # ValueError: a null character, `-x`
            where = self.work_tree or self.git_dir
            hint = "the clone is shallow: fetch it" if self.is_shallow else "see `git log`"
            raise InputError(f"{revision!r}: no such commit in {where}; {hint}") from None

    @property
    def is_shallow(self) -> bool:
        """Return whether the clone lacks the commits before some."""
        return self.git("rev-parse", "--is-shallow-repository").strip() == b"true"

    def git(
        self,
        *arguments: str,
        given: bytes | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> bytes:
        """Run git on the clone. Raises `GitFailed`."""
        return git(*arguments, options=(f"--git-dir={self.git_dir}",), given=given, env=env)

    def list_files(self, *words: str, index: Path | None = None) -> list[str]:
        """`git ls-files` of the work tree that is not bare, by all rules of what is ignored.

        git runs without the user's settings, but what they ignore is no part of a change: so
        `core.excludesFile` is read from them, and as `git status` does from the repository's own
        (patterns can only hide names), where it is a regular file. Raises `GitFailed`.
        """
        assert self.work_tree is not None
        kinds = "GLOBAL", "SYSTEM", "NOSYSTEM"
        known = "HOME", "XDG_CONFIG_HOME", *(f"GIT_CONFIG_{kind}" for kind in kinds)
        users = {name: os.environ.get(name) for name in known}
        try:
            words_of = ("config", "--type=path", "--get", "core.excludesFile")
            found = os.fsdecode(self.git(*words_of, env=users).removesuffix(b"\n"))
        except GitFailed:  # it is not set
            home = Path(os.environ.get("HOME") or "/nonexistent")
            found = str(Path(users["XDG_CONFIG_HOME"] or home / ".config") / "git" / "ignore")
        if not (self.work_tree / found).is_file():
            found = "/dev/null"
        listed = git(
            *("ls-files", "-z", "--exclude-standard", *words),
            folder=self.work_tree,
            options=(
                *(f"--git-dir={self.git_dir}", f"--work-tree={self.work_tree}"),
                *("-c", f"core.excludesFile={found}"),
            ),
            env={} if index is None else {"GIT_INDEX_FILE": str(index)},
        )
        names = listed.decode("utf-8", "surrogateescape").split("\0")
        return [name for name in names if name]


def find_clone(repo: str, root: Path | None = None) -> Clone:
    """The clone of `owner/name`, or of the user's own repository at a path.

    Clones are looked for in `root`, else in REFUTE_REPOS: a folder that holds `owner__name`,
    `owner/name` or `name`, each a clone or a link to one, bare or not. Raises
    `WorkspaceUnavailable`, `InputError` for a path that is no repository.
    """
    named = re.fullmatch(r"[\w.-]+/[\w.-]+", repo) is not None
    if not named or (repo.startswith((".", "~")) or Path(repo).is_dir()):
        path = Path(repo).expanduser()
        found = _git_dir(path)
        if found is None:
            raise InputError(f"{repo}: not a git repository; give the root of one")
        return Clone(str(path.resolve()), *found)
    given = root or os.environ.get(Variable.REPOS)
    if not given:
        raise WorkspaceUnavailable(
            f"no clone of {repo}: set REFUTE_REPOS to a folder that holds {repo.replace('/', '__')}"
        )
    owner, name = repo.split("/")
    for form in (f"{owner}__{name}", f"{owner}/{name}", name):
        for ending in ("", ".git"):
            found = _git_dir(Path(given) / (form + ending))
            if found is not None:
                return Clone(repo, *found)
    raise WorkspaceUnavailable(
        f"no clone of {repo} in {given}; make one: git clone --bare <its address> "
        f"{Path(given) / f'{owner}__{name}'}"
    )


def _git_dir(path: Path) -> tuple[Path, Path | None] | None:
    """Git directory and work tree of a clone, bare or not."""
    if not path.is_dir():
        return None
    if (path / "HEAD").is_file() and (path / "objects").is_dir():
        return path.resolve(), None
    inner = path / ".git"
    if inner.is_dir():
        return inner.resolve(), path.resolve()
    if inner.is_file():  # a linked work tree or a submodule
        target = inner.read_text().strip().removeprefix("gitdir: ")
        return (path / target).resolve(), path.resolve()
    return None


TRACES = ("__pycache__/", "*.py[co]", ".pytest_cache/")
"""Patterns of what every test run leaves, in repositories that do not ignore it themselves."""

_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
[user]
\tname = refute
\temail = refute@localhost
[gc]
\tauto = 0
"""


def check_out(clone: Clone, commit: str, target: Path) -> None:
    """Make the work tree of a commit (a full hash) at `target`, which must be absent.

    The commit keeps its hash, date and message; its parents are not there (a shallow clone).
    Modification times are the commit's, so that two trees of a commit are alike. Submodules are
    left empty. Code that runs in the tree may read `.git`, so it is a fresh one: the commit and the
    objects of its tree, no parents, later commits, references or logs. Raises
    `WorkspaceUnavailable` when objects are missing.
    """
    inner = target / ".git"
    for name in ("objects/pack", "objects/info", "refs/heads", "info"):
        (inner / name).mkdir(parents=True)
    (inner / "config").write_text(_CONFIG)
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    (inner / "refs" / "heads" / "main").write_text(commit + "\n")
    (inner / "shallow").write_text(commit + "\n")
    try:
        names = clone.git("rev-list", "--objects", "--no-walk", "--no-object-names", commit)
        pack = clone.git("pack-objects", "--stdout", "--window=0", "-q", given=names)
        git("index-pack", "--stdin", "--fix-thin", folder=target, given=pack)
        git("reset", "--hard", "--quiet", folder=target)
        when = int(git("show", "-s", "--format=%ct", "HEAD", folder=target))
        # Byte code is matched by its source's time, in seconds, and size: a change of the same size
        # that followed a commit of just now would not be seen.
        _set_times(target, min(when, int(time.time()) - 2))
        git("update-index", "-q", "--refresh", folder=target)
    except GitFailed as error:
        raise WorkspaceUnavailable(f"{clone.name}: cannot check out {commit}: {error}") from None
    (inner / "ORIG_HEAD").unlink(missing_ok=True)


def archived(clone: Clone, commit: str) -> bytes:
    """A tar archive of the folder `.git` that `check_out` makes, the same whenever it is made: with
    `git reset --hard` it becomes the tree. Raises `WorkspaceUnavailable`."""
    with ScratchFolder() as folder:
        tree, buffer = Path(folder, "tree"), io.BytesIO()
        check_out(clone, commit, tree)
        hide_untracked(tree)
        (tree / ".git" / "index").unlink()  # it holds times of files
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for path in sorted((tree / ".git").rglob("*")):
                archive.add(path, str(path.relative_to(tree)), recursive=False, filter=_plain)
    return buffer.getvalue()


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.isdir() else 0o644
    return member


def _set_times(target: Path, when: int) -> None:
    listed = git("ls-files", "-z", folder=target)
    for name in listed.split(b"\0"):
        if name:
            path = os.path.join(os.fsencode(target), name)
            os.utime(path, (when, when), follow_symlinks=False)


def hide_untracked(tree: Path) -> None:
    """Let git ignore what is there now and not tracked, and byte code and caches at any time:
    traces of builds and of test runs are no change."""
    listed = git("ls-files", "-o", "-z", "--exclude-standard", "--directory", folder=tree)
    patterns = [_pattern(name.decode(errors="surrogateescape")) for name in listed.split(b"\0")]
    with (tree / ".git" / "info" / "exclude").open("a", errors="surrogateescape") as file:
        file.writelines(f"{pattern}\n" for pattern in (*TRACES, *patterns) if pattern)


def _pattern(name: str) -> str:
    """The exclude pattern for exactly this path."""
    if not name or "\n" in name:
        return ""
    return "/" + "".join("\\" + c if c in "*?[]\\ !#" else c for c in name)


_TOOLS = {
    r"setuptools[-_]scm|hatch-vcs|flit[-_]scm": "SETUPTOOLS_SCM_PRETEND_VERSION",
    r"\bpbr\b": "PBR_VERSION",
    r"poetry-dynamic-versioning": "POETRY_DYNAMIC_VERSIONING_BYPASS",
    r"source\s*=\s*[\"']scm[\"']": "PDM_BUILD_SCM_VERSION",
}
"""Pattern of such a tool's name in a repository's build files, and the variable that the tool
reads."""


def version_variables(read: Reader, clone: Clone, commit: str) -> Mapping[str, str]:
    """Return the variables that tell a build at the commit its version.

    The tree that is built has no history (`check_out`), so a tool that derives a version from git
    would find none, or 0.1. The clone has the tags. Empty where the build reads no tags, or the
    repository has none.
    """
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
