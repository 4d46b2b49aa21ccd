"""What the files of Harbor's task directories say; names in braces are filled in."""

__all__ = [
    "AGENT", "COLLECT", "CONFIG", "EDITABLE", "IMAGE", "INSTRUCTION", "ISSUE_CONFIG",
    "ISSUE_TEST", "ISSUE_VERIFIER", "SOLVE", "TEST", "UV", "VERIFIER",
]  # fmt: skip

IMAGE = "python:3.12-slim"
"""Where refute is installed."""
UV = "uv==0.13.9"
"""What builds the environments of issues."""
_HEAD = """\
schema_version = "1.4"
artifacts = ["{place}"]

[task]
name = "refute/{name}"

[metadata]
id = {id}
kind = "{kind}"

"""
CONFIG = (
    _HEAD
    + """\
[agent]
timeout_sec = 900.0

[environment]
cpus = 1
memory_mb = 2048

[verifier]
timeout_sec = 300.0
environment_mode = "separate"

[verifier.environment]
cpus = 1
memory_mb = 2048
"""
)
VERIFIER = """\
FROM {image}
RUN pip install --no-cache-dir {refute}
COPY . /tests
"""
TEST = """\
#!/bin/sh
exec python -I -m refute_lab.adapters.harbor /tests/task.json {place} /logs/verifier/reward.json
"""
ISSUE_CONFIG = (
    _HEAD
    + """\
[agent]
timeout_sec = 3000.0

[environment]
build_timeout_sec = 1800.0
cpus = 2
memory_mb = 4096

[verifier]
timeout_sec = 3600.0
environment_mode = "separate"

[[verifier.collect]]
command = "{collect}"

[verifier.environment]
build_timeout_sec = 1800.0
cpus = 2
memory_mb = 8192
"""
)
COLLECT = (
    "mkdir -p /app && cd {tree} && git add --all && git diff --cached --binary --no-color"
    " --no-ext-diff {commit} > {place}"
)
INSTRUCTION = """\
An issue was reported about the repository in `{tree}`. Write tests there that reproduce it: they
fail now, and pass once the issue is fixed. Do not fix it: of what you change, only test files are
looked at. Nothing else is to be handed in. Tests are run like this:

    cd {tree} && {command} [TESTS]

# The issue

{issue}
"""
AGENT = """\
FROM python:{python}
COPY requirements.txt /opt/requirements.txt
RUN pip install --no-cache-dir --no-deps -r /opt/requirements.txt
ADD repository.tar {tree}
WORKDIR {tree}
RUN git reset --quiet --hard
"""
EDITABLE = """\
RUN pip install --no-cache-dir --no-deps --no-build-isolation --editable .
RUN git ls-files --others --exclude-standard --directory | sed 's|^|/|' >> .git/info/exclude
"""
ISSUE_VERIFIER = """\
FROM {image} AS refute
ENV UV_MANAGED_PYTHON=1 UV_PYTHON_INSTALL_DIR=/opt/refute/pythons
RUN pip install --no-cache-dir {uv}
RUN uv venv --python 3.12 /opt/refute/venv
RUN uv pip install --python /opt/refute/venv/bin/python {refute} {uv}

FROM python:{python}
COPY --from=refute /opt/refute /opt/refute
ADD repository.tar /opt/repositories/{repo}
ENV REFUTE_REPOS=/opt/repositories REFUTE_CACHE=/opt/cache
COPY row.jsonl test.sh /tests/
RUN /opt/refute/venv/bin/refute data prepare /tests/row.jsonl
"""
ISSUE_TEST = """\
#!/bin/sh
exec /opt/refute/venv/bin/python -I -m refute_lab.adapters.harbor_issues \\
    /tests/row.jsonl {place} /logs/verifier/reward.json
"""
SOLVE = "#!/bin/sh\ncd {tree} && git apply /solution/tests.patch\n"
