"""Inputs that a model writes where the search finds none: a scripted model, real runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from refute.diffing.comparison import Effort, Settings
from refute.diffing.service import Compared, Comparer, compare, work_of
from refute.diffing.written import with_written_inputs
from refute.models.session import Session
from refute.testing.models import ScriptedModel

from .repositories import two

OLD = """
class Vault:
    def __init__(self, code):
        self.code = code

    def open(self, word):
        total = 0
        for letter in word:
            total = total * 31 + ord(letter)
        if total % 9973 == self.code * 7 + 5:
            return "gold"
        return "closed"


def same(n):
    return n + 1
"""
NEW = OLD.replace('"gold"', '"silver"').replace("n + 1", "1 + n")
WORD = next(
    word
    for number in range(10**6)
    if (word := f"w{number}")
    if sum(ord(c) * 31 ** (len(word) - 1 - i) for i, c in enumerate(word)) % 9973 == 26
)
HELPS = f"""The code has to fit.
```python
from vault import Vault

def test_wrong():
    assert Vault(3).open("x") == "closed"

def test_right():
    vault = Vault(code=3)
    assert vault.open({WORD!r}) == "gold"
```
"""
LOST = "I would call it with a word that fits, such as `open(word)`."


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[Compared], Comparer]]:
    """Both functions as the search without a model leaves them, and what runs more inputs."""
    folder = tmp_path_factory.mktemp("vault")
    settings = Settings(seconds=20.0, most=32, steady=True)
    with two(folder, {"vault.py": OLD}, {"vault.py": NEW}) as revisions:
        done = compare(revisions, settings)
        with Comparer(work_of(revisions, done.changes, settings)) as comparer:
            yield done.functions, comparer


def asked(
    model: ScriptedModel, found: tuple[list[Compared], Comparer], effort: Effort
) -> list[Compared]:
    async def work() -> list[Compared]:
        async with Session(model) as session:
            return await with_written_inputs(*found, session.asker, effort)

    return asyncio.run(work())


def test_an_input_of_the_models_reaches_what_the_search_did_not(
    found: tuple[list[Compared], Comparer],
) -> None:
    vault, _ = found[0]
    assert vault.comparison.verdict == "cannot tell"
    [line] = vault.comparison.missed_after
    answers = iter([LOST, HELPS, "nothing"])
    model = ScriptedModel(
        lambda messages, _: next(answers) if "Vault" in messages[0].content else "nothing"
    )
    vault, same = asked(model, found, Effort(rounds=3, calls=6))
    [shown] = vault.comparison.differences
    assert (shown.before.value, shown.after.value) == ("gold", "silver")
    assert vault.comparison.missed_after == ()
    assert vault.comparison.written == 2
    assert same.comparison.verdict == "no difference"
    assert same.comparison.ran == found[0][1].comparison.ran
    of_vault = [messages for messages in model.asked if "Vault" in messages[0].content]
    assert len(of_vault) == 2  # then nothing is left to be found
    first, again = of_vault[0][0].content, of_vault[1][-1].content
    assert f"{line:4}! " in first
    assert 'before: "closed"' in first
    assert "No call of `Vault.open`" in again
    assert f"still not executed: before {line}; after {line}" in again


def test_calls_are_bounded_for_all_functions_together(
    found: tuple[list[Compared], Comparer],
) -> None:
    model = ScriptedModel(lambda messages, _: "nothing")
    asked(model, found, Effort(rounds=5, calls=3))
    assert model.requests == 3
    assert asked(model, found, Effort(rounds=0)) == found[0]
