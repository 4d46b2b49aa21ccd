"""A long issue loses the middle of what was pasted, not what its author wrote."""

from __future__ import annotations

from refute.issue.context import estimated_tokens, shown_issue

PROSE = "The option is ignored when a folder is named twice.\n\nExpected: it is read once.\n"
LOG = "".join(f"step {number} of the run: nothing special\n" for number in range(900))
TRACE = "Traceback (most recent call last):\n" + LOG + "ValueError: told twice\n"


def test_the_longest_blocks_lose_their_middle() -> None:
    code = "```python\nread('a', 'a')\n```\n"
    issue = f"{PROSE}\n{code}\n```\n{TRACE}```\n\n{PROSE}"
    shown = shown_issue(issue, 1000)
    assert estimated_tokens(shown) <= 1100
    assert shown.startswith(f"{PROSE}\n{code}\n```\nTraceback (most")
    assert shown.endswith(f"ValueError: told twice\n```\n\n{PROSE}")
    assert shown.splitlines().count("[...]") == 1


def test_output_without_a_fence_and_one_endless_line() -> None:
    shown = shown_issue(f"{PROSE}\n{TRACE}\n{PROSE}", 800)
    assert shown.count(PROSE) == 2
    assert "\n[...]\n" in shown
    assert "ValueError: told twice" in shown
    shown = shown_issue(f"{PROSE}\ndata = {'0, ' * 9000}\n", 500)
    assert PROSE in shown
    assert "[...]" in shown
    assert len(shown) < 2000
