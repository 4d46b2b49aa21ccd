"""The templates for clusters: what they say parses, and refute knows the commands in them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from refute.doors.command_line import cli

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"
SCRIPTS = ("ray-job.sh", "slurm.sh")


def commands(text: str) -> list[list[str]]:
    """The command lines of refute in a script or a manifest."""
    joined = text.replace("\\\n", " ")
    found = re.findall(r"^(?!#).*?\b(refute (?:grade|bench|data|train) .*)$", joined, re.MULTILINE)
    return [shlex.split(line)[1:] for line in found]


@pytest.mark.parametrize("name", [*SCRIPTS, "kuberay.yaml"])
def test_refute_knows_the_commands(name: str) -> None:
    found = commands((TEMPLATES / name).read_text())
    assert found
    for one in found:
        command: Any = cli
        arguments = list(one)
        while isinstance(command, click.Group):
            chosen = command.get_command(click.Context(command), arguments.pop(0))
            assert chosen is not None, one
            command = chosen
        parsed = command.make_context(command.name, arguments)
        assert parsed.params["executor"].startswith("ray:")


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_parse(name: str) -> None:
    subprocess.run(["bash", "-n", TEMPLATES / name], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", TEMPLATES / name], check=True)


def test_the_manifest_is_a_ray_job() -> None:
    job = yaml.safe_load((TEMPLATES / "kuberay.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    for pod in (one["template"]["spec"] for one in groups):
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in pod["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
            assert all(isinstance(one["value"], str) for one in container["env"])
