"""The sample cache: several processes, damaged files, what is kept."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from refute.errors import InputError
from refute.models.cache import Sample, SampleCache
from refute.models.contract import (
    Completion,
    Message,
    Sampling,
    Tool,
    ToolCall,
    Usage,
    digest,
)

KEY = digest([Message("user", "hello")], Sampling(), "m")
ODD = Completion(
    "a\x00b \ud800 \u2028 é",
    "tool_calls",
    (ToolCall("1", "look", '{"x": '),),
    Usage(3, 4),
)

WRITER = """
import sys
from collections.abc import Callable
from pathlib import Path
from refute.models.cache import Sample, SampleCache
from refute.models.contract import Completion
name, path = sys.argv[1:]
sys.stdin.readline()
with SampleCache(Path(path)) as cache:
    for number in range(200):
        key = f"{number % 20:064x}"
        kept = cache.put(key, number // 20, [Sample(Completion(name))])
        print(kept[0].completion.text)
"""


def test_comes_back_as_it_was(tmp_path: Path) -> None:
    samples = [Sample(ODD, True, 1.5), Sample(Completion(""), False)]
    with SampleCache(tmp_path / "deep" / "s.sqlite3") as cache:
        assert cache.get(KEY, 0, 8) == {}
        assert cache.put(KEY, 3, samples) == samples
    with SampleCache(tmp_path / "deep" / "s.sqlite3") as cache:
        assert cache.get(KEY, 0, 8) == {3: samples[0], 4: samples[1]}
        assert cache.get(KEY, 4, 1) == {4: samples[1]}
        assert cache.get(digest([], Sampling(), "m"), 0, 8) == {}
    assert stat.S_IMODE((tmp_path / "deep").stat().st_mode) & 0o077 == 0


def test_the_first_sample_of_a_number_stands(tmp_path: Path) -> None:
    """Whatever a second process says: one request and number, one sample."""
    with SampleCache(tmp_path / "s") as one, SampleCache(tmp_path / "s") as other:
        one.put(KEY, 1, [Sample(Completion("one"))])
        kept = other.put(KEY, 0, [Sample(Completion(f"other {i}")) for i in range(3)])
        assert [sample.completion.text for sample in kept] == ["other 0", "one", "other 2"]
        assert one.get(KEY, 0, 3) == other.get(KEY, 0, 3)


def test_several_processes_agree(tmp_path: Path) -> None:
    """Four processes write the same 200 samples at once: each gets the one that is kept."""
    path = tmp_path / "s"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, name, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "abcd"
    ]
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    outputs = [writer.communicate(timeout=120)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0, 0]
    assert [len(output) for output in outputs] == [200] * 4
    assert outputs[0] == outputs[1] == outputs[2] == outputs[3]


def damage(path: Path, how: str) -> None:
    with SampleCache(path) as cache:
        for number in range(200):
            cache.put(KEY, number, [Sample(Completion("x" * 100))])
    data = path.read_bytes()
    if how == "not a database":
        path.write_bytes(b"hello" * 1000)
    elif how == "overwritten":
        path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    elif how == "cut":
        path.write_bytes(data[: len(data) // 3])
    elif how == "other version":
        with sqlite3.connect(path) as rows:
            rows.execute("PRAGMA user_version = 99")
    elif how == "row":
        with sqlite3.connect(path) as rows:
            rows.execute("UPDATE sample SET answer = '{\"text\": 3}'")


@pytest.mark.parametrize("how", ["not a database", "overwritten", "cut", "other version", "row"])
def test_damage_is_told_in_one_line(how: str, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite3"
    damage(path, how)
    with pytest.raises(InputError) as caught, SampleCache(path) as cache:
        cache.get(KEY, 0, 200)
    line = str(caught.value)
    assert "\n" not in line
    assert str(path) in line
    assert "move" in line


def test_requests_are_told_apart() -> None:
    """No two of these share a digest; texts that no UTF-8 can say have one too."""
    hello = Message("user", "hello")
    requests = [
        ([hello], Sampling(), "m"),
        ([hello], Sampling(), "n"),
        ([], Sampling(), "m"),
        ([Message("user", "hello\ud800")], Sampling(), "m"),
        ([Message("assistant", "hello")], Sampling(), "m"),
        ([Message("tool", "hello", tool_call_id="1")], Sampling(), "m"),
        ([Message("assistant", "hello", ODD.tool_calls)], Sampling(), "m"),
        ([hello], Sampling(temperature=0.70001), "m"),
        ([hello], Sampling(stop=("",)), "m"),
        ([hello], Sampling(tools=(Tool("a", "b", "{}"),)), "m"),
    ]
    assert len({digest(*request) for request in requests}) == len(requests)
    assert digest([hello], Sampling(temperature=1), "m") == digest(
        [hello], Sampling(temperature=1.0), "m"
    )
