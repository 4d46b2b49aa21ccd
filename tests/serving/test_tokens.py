"""Tokens: each is of a tenant; what is wrong with their file is said without showing one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from refute.core.extras import missing
from refute.errors import InputError
from refute_lab.serving import EVERYBODY, Tokens, read_tokens

A, B = "a" * 32, "b" * 16
Run = Callable[..., tuple[int, str, str]]


def test_a_token_names_a_tenant() -> None:
    tokens = read_tokens(f"# who\n\nann {A}\nbob {B}\nann {B}x\n", "f")
    assert tokens.tenant(f"Bearer {A}") == tokens.tenant(f"bearer {B}x") == "ann"
    assert tokens.tenant(f"Bearer {B}") == "bob"
    for nobody in (None, "", A, f"Basic {A}", "Bearer", f"Bearer {A}x", "Bearer \udcff"):
        assert tokens.tenant(nobody) is None
    assert Tokens({}).tenant(None) == EVERYBODY


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ann", "f, line 1: a line is TENANT TOKEN"),
        ("\nann short", "f, line 2: a token has 16 characters and more"),
        (f"a/n {A}", "f, line 1: a tenant's name is of letters"),
        (f"ann {A}\nbob {A}", "f, line 2: the token is another tenant's too"),
        ("# none", "f: no token"),
        (f"ann {A[1:]}ä", "f, line 1: a token has"),
    ],
)
def test_a_bad_file_is_one_line_without_a_token(text: str, line: str) -> None:
    with pytest.raises(InputError) as error:
        read_tokens(text, "f")
    assert str(error.value).startswith(line)
    assert "short" not in str(error.value)
    assert A[1:] not in str(error.value)


@pytest.mark.skipif(bool(missing("serve")), reason="no extra [serve]")
def test_others_may_not_ask_without_a_token(
    refute: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REFUTE_SERVE_TOKENS", raising=False)
    for host in ("0.0.0.0", "::", "example.org"):
        status, _, err = refute("serve", "--host", host)
        assert status == 2
        assert err == (
            f"refute: --host {host}: others could ask without a token: give --token-file FILE or "
            "REFUTE_SERVE_TOKENS\n"
        )
    status, _, err = refute("serve", "--token-file", str(tmp_path / "none"))
    assert (status, err) == (
        2, f"refute: --token-file {tmp_path}/none: No such file or directory\n",
    )  # fmt: skip
    status, _, err = refute("serve", "--set", "preload=no_such")
    assert (status, err) == (2, "refute: preload = no_such: no such package is installed\n")
    status, _, err = refute("serve", "--dataset", "none-such")
    assert status == 2
    assert err.startswith("refute: --dataset none-such: none of ")
