"""The files of a batch folder: torn, foreign and malformed rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from refute.errors import InputError
from refute_lab.models.batch import BatchPart, RequestFile, read_answers

DIGEST = "0123456789" * 4
PART = BatchPart(DIGEST, 0, 1)


def body(part: BatchPart) -> dict[str, Any]:
    return {"model": "m", "n": part.n}


def parts(folder: Path) -> list[BatchPart | None]:
    lines = (folder / "requests.jsonl").read_text().splitlines()
    return [BatchPart.of(json.loads(line)["custom_id"]) for line in lines]


def good(part: BatchPart = PART, text: str = "x") -> str:
    body = {"choices": [{"message": {"content": text}}]}
    return json.dumps({"custom_id": part.custom_id, "response": {"status_code": 200, "body": body}})


def test_a_mark_says_that_the_requests_are_whole(tmp_path: Path) -> None:
    mark = tmp_path / "requests.complete"
    file = RequestFile(tmp_path, [], "")
    file.add(DIGEST, [0, 1, 4], body)
    assert not mark.exists()
    file.finish()
    assert (mark.read_text(), file.waiting) == ("2\n", 3)
    again = RequestFile(tmp_path, [], "")
    assert not mark.exists(), "work goes on"
    again.finish()
    assert mark.read_text() == "2\n"
    again.add(DIGEST, [5], body)
    assert not mark.exists()


def test_a_torn_request_is_cut_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = RequestFile(tmp_path, [], "")
    file.add(DIGEST, [0], body)
    with file.path.open("a") as torn:
        torn.write('{"custom_id": "')
    RequestFile(tmp_path, [], "").add(DIGEST, [0, 1], body)
    assert parts(tmp_path) == [PART, BatchPart(DIGEST, 1, 1)]
    assert "requests.jsonl:2: left out a torn last line" in capsys.readouterr().err


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    """With a limit on the size of files in place of the disk's."""
    program = f"""
import resource, signal, sys
from pathlib import Path
from refute.errors import InputError
from refute_lab.models.batch import RequestFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = RequestFile(Path(sys.argv[1]), [], "")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
file.add("{DIGEST}", [0], lambda part: {{"model": "m"}})
try:
    file.add("{DIGEST}", [1], lambda part: {{"model": "m" * 2000}})
except InputError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert "requests.jsonl: cannot be written" in done.stdout, done.stderr
    assert parts(tmp_path) == [PART]


def test_answers_of_several_files_in_any_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second, foreign = (
        BatchPart(DIGEST, 1, 1),
        json.dumps({"custom_id": "not ours", "response": None}),
    )
    (tmp_path / "responses.jsonl").write_text(f"{good(second)}\n\n{foreign}\n")
    (tmp_path / "responses-2.jsonl").write_text(good() + "\n" + good(second)[:30])
    found = read_answers(tmp_path)
    assert {answer.part for answer in found} == {PART, second}
    told = capsys.readouterr().err
    assert "responses-2.jsonl:2: left out a torn last line" in told
    assert "1 answers are to requests that are not refute's" in told


def at(place: str, value: object) -> str:
    """A good row with one field changed."""
    row = json.loads(good())
    *path, last = place.split(".")
    inner = row
    for name in path:
        inner = inner[name]
    inner[last] = value
    return json.dumps(row)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        (at("custom_id", 3), "custom_id: missing or not a text"),
        (at("response.status_code", "200"), r"response\.status_code: not a whole number"),
        (at("response.body.choices", None), r"response\.body\.choices: not a list"),
        (at("response.body.choices", [{}]), r"response\.body\.choices\[0\]\.message"),
    ],
)
def test_a_malformed_answer_is_told_by_place_and_field(
    tmp_path: Path, row: str, fault: str
) -> None:
    (tmp_path / "responses.jsonl").write_text(f"{good()}\n{row}\n{good()}\n")
    with pytest.raises(InputError, match=rf"responses\.jsonl:2: {fault}") as info:
        read_answers(tmp_path)
    assert "\n" not in str(info.value)
