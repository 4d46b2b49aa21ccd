"""CrossHair's `diffbehavior` and Pynguin on the mutants of `diff_mutants.py`, beside `refute diff`.

    python benchmarks/diff_peers.py --half dev --count 16 --crosshair BIN --pynguin BIN

Each gets `--budget` seconds for a mutant: CrossHair as its limit for a condition, original and
mutant beside each other in the package; Pynguin as its search time for tests of the original's
module, which then run on the original (where they have to pass) and on the mutant. Peers execute
what they test in their own process: here they run without network, on a file system that is
read-only but for a fresh /tmp. `BIN` is each one's executable in an environment of its own; one
that is left out is not run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from diff_mutants import Case, Repositories, cases, compared, git, settings_of
from packages import Row, half_of, parser, share, work

_JAIL = (
    "unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--mount-proc",
    "sh", "-c", 'mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp && cd /tmp && exec "$@"',
    "jail",
)  # fmt: skip
_PATIENCE = 8  # times the budget, plus a minute: start and imports are not counted


def jailed(command: list[str], path: list[Path], budget: float) -> tuple[int, str]:
    """Exit status and output of a peer; 124 where it does not end."""
    environment = {
        "PATH": os.environ["PATH"], "PYTHONPATH": ":".join(map(str, path)), "HOME": "/tmp",
        "PYTHONDONTWRITEBYTECODE": "1", "PYNGUIN_DANGER_AWARE": "1", "PYTHONHASHSEED": "0",
    }  # fmt: skip
    try:
        done = subprocess.run(
            [*_JAIL, *command], env=environment, capture_output=True, text=True,
            timeout=60 + _PATIENCE * budget, errors="replace", check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 124, ""
    return done.returncode, done.stdout[-3000:] + done.stderr[-1500:]


def crosshair(case: Case, binary: Path, site: Path, budget: float) -> Row:
    """Whether CrossHair tells original and mutant apart."""
    with Copied(case, site) as (folder, place):
        mutant = place.with_name(f"{place.stem.strip('_')}_mutant.py")
        mutant.write_bytes(case.text)
        own = case.source.source.module
        is_package = place.name == "__init__.py"
        other = f"{own if is_package else own.rpartition('.')[0]}.{mutant.stem}".lstrip(".")
        names = [f"{module}.{case.source.name}" for module in (own, other)]
        limit = f"--per_condition_timeout={budget}"
        command = [str(binary), "diffbehavior", limit, *names]
        status, said = jailed(command, [folder, site], budget)
    return {"found": status == 1 and "Given:" in said, "status": status, "said": said}


def pynguin(case: Case, binary: Path, site: Path, budget: float) -> Row:
    """Whether a test that Pynguin writes for the original passes there and fails on the mutant."""
    module = case.source.source.module
    with Copied(case, site) as (old, _), Copied(case, site) as (new, place):
        place.write_bytes(case.text)
        python = binary.with_name("python")
        script = (
            f'"{binary}" --project-path "{old}" --module-name {module} --output-path /tmp/made '
            f"--maximum-search-time {round(budget)} --assertion-generation SIMPLE --seed 1; "
            f'PYTHONPATH="{old}:{site}" "{python}" -m pytest -q -p no:cacheprovider /tmp/made; '
            'echo "original: $?"; '
            f'PYTHONPATH="{new}:{site}" "{python}" -m pytest -q -p no:cacheprovider /tmp/made; '
            'echo "mutant: $?"'
        )
        status, said = jailed(["sh", "-c", script], [old, site], budget)
    return {"found": "original: 0" in said and "mutant: 1" in said, "status": status, "said": said}


class Copied:
    """A folder with a copy of the case's package, outside /tmp, and the case's file in it."""

    def __init__(self, case: Case, site: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="refute-peers-", dir="/var/tmp"))
        source = case.source.source
        top = site / source.package
        if top.is_dir():
            shutil.copytree(top, self.folder / source.package)
        else:
            shutil.copy(top.with_suffix(".py"), self.folder)
        self.place = self.folder / source.path.relative_to(site)

    def __enter__(self) -> tuple[Path, Path]:
        return self.folder, self.place

    def __exit__(self, *exc: object) -> None:
        shutil.rmtree(self.folder)


def main() -> None:
    made = parser(__doc__, count=16)
    made.add_argument("--most", type=int, help="scenarios of refute, instead of the budget")
    made.add_argument("--crosshair", type=Path)
    made.add_argument("--pynguin", type=Path)
    options = made.parse_args()
    half = half_of(options.half)
    repos = Repositories(half)
    peers = [(run, binary) for run, binary in ((crosshair, options.crosshair),
             (pynguin, options.pynguin)) if binary is not None]  # fmt: skip

    def measured(case: Case) -> Row:
        repo = repos.of(case.source.package)
        place = repo / case.source.source.path.relative_to(half.site)
        place.write_bytes(case.text)
        git(repo, "commit", "-q", "-a", "-m", "change")
        ours = compared(repo, repos.python, case.source.name, settings_of(options))
        git(repo, "reset", "-q", "--hard", "HEAD~1")
        row: Row = {"change": case.change, "what": case.source.kind, "refute": ours}
        for run, binary in peers:
            start = time.monotonic()
            row[run.__name__] = run(case, binary, half.site, options.budget)
            row[run.__name__]["seconds"] = round(time.monotonic() - start, 1)
        return row

    try:
        drawn = list(cases(half, options.count, options.seed))
        rows = work(drawn, key=lambda case: case.key, do=measured, options=options)
    finally:
        shutil.rmtree(repos.top)
    names = ["refute", *(run.__name__ for run, _ in peers)]
    for row in rows:
        marks = "  ".join(f"{n} {'found' if row[n]['found'] else '-':5}" for n in names)
        print(f"{marks}  {row['key']}")
    for name in names:
        alone = sum(r[name]["found"] and not any(r[o]["found"] for o in names if o != name)
                    for r in rows)  # fmt: skip
        found = share(sum(row[name]["found"] for row in rows), len(rows))
        print(f"{name}: found {found}, alone {alone}")


if __name__ == "__main__":
    main()
