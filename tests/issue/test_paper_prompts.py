"""What zeroshot, zeroshotplus and libro send, word for word in golden files, and beside it the
facts of the paper's prompts that each has to carry.

SWT-Bench (arXiv 2406.12952), section 5.1 and appendices A and B; its reference code builds them in
`dataset/swt_bench.py` (drafts) and `dataset/libro.py` (judge). The words are ours, the facts
theirs. Where we send more, it is said beside the fact.

`REFUTE_WRITE_GOLDEN=1 pytest tests/issue/test_paper_prompts.py` writes the files anew.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from refute.core.methods import Context, Given
from refute.issue.context import estimated_tokens
from refute.models.contract import Completion, Message, Sampling
from refute.models.session import Session
from refute.testing.models import ScriptedModel
from refute_lab.baselines.edits import Form, read_edits
from refute_lab.baselines.methods.zeroshot import CONTEXT_TOKENS

from ..diffing.repositories import git
from .projects import DRAFT, FIX, ISSUE, Project, make_project, with_options

GOLDEN = Path(__file__).parent / "golden"
TEST_FILE = Given(("tests/test_line.py",))
PATCH = Given(code_patch=FIX)
DOUBTED = Given(code_patch=FIX, patch_may_be_wrong=True)
BOTH = Given(("tests/test_line.py",), FIX, True)
VARIANTS = {
    "zeroshot": ("zeroshot", Given()),
    "zeroshotplus": ("zeroshotplus", Given()),
    "zeroshotplus_test_file": ("zeroshotplus", TEST_FILE),
    "zeroshotplus_patch": ("zeroshotplus", PATCH),
    "zeroshotplus_doubted_patch": ("zeroshotplus", DOUBTED),
    "zeroshotplus_both": ("zeroshotplus", BOTH),
    "zeroshot_both": ("zeroshot", BOTH),
    "pass@5": ("pass@5", Given()),
    "libro": ("libro", Given()),
}
"""Golden file -> method and what it is given (the rows of Table 5)."""
DRAFTS = [name for name in VARIANTS if name != "libro"]


@dataclass
class Recorder:
    """A scripted model that notes whole requests: messages, number of samples, sampling."""

    requests: list[tuple[Sequence[Message], int, Sampling]] = field(default_factory=list)
    name: str = "recorder"

    def __post_init__(self) -> None:
        self.scripted = ScriptedModel(lambda m, _: "yes" if "<run>" in m[-1].content else DRAFT)

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        self.requests.append((messages, n, sampling))
        return await self.scripted.generate(messages, n=n, sampling=sampling, first=first)

    async def close(self) -> None:
        await self.scripted.close()


def asked(project: Project, method: str, given: Given) -> list[str]:
    """All requests of a method about the project, as text."""
    model = Recorder()
    spec, options = with_options(method)

    async def work() -> None:
        async with Session(model) as session:
            ask = session.asker(project.problem.id)
            ctx = Context(workspace=project.spawn, model=ask, given=given)
            await spec(project.problem, ctx=ctx, options=options)

    asyncio.run(work())
    return [shown(*request) for request in model.requests]


def shown(messages: Sequence[Message], n: int, sampling: Sampling) -> str:
    head = f"n={n} temperature={sampling.temperature} top_p={sampling.top_p}"
    assert not sampling.tools
    parts = [f"=== {message.role}\n{message.content}\n" for message in messages]
    return f"{head} max_tokens={sampling.max_tokens}\n" + "\n".join(parts)


def without_run(text: str) -> str:
    """Without what a run of tests printed: other releases of Python and pytest print it in other
    words."""
    return re.sub(r"<run>\n.*?\n</run>", "<run>\n(the run)\n</run>", text, flags=re.S)


@pytest.fixture(scope="module")
def sent(project: Project) -> dict[str, list[str]]:
    return {name: asked(project, *variant) for name, variant in VARIANTS.items()}


@pytest.mark.parametrize("name", VARIANTS)
def test_as_in_the_golden_file(name: str, sent: dict[str, list[str]]) -> None:
    text = "\n".join(map(without_run, sent[name]))
    path = GOLDEN / f"{name.replace('@', '_at_')}.txt"
    if os.environ.get("REFUTE_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path}: what was sent before"


# -- the drafts: facts of the paper's prompt, one by one -------------------------------------------

Fact = Callable[[str], bool]


def has(*words: str) -> Fact:
    """All of them, whatever the case."""
    return lambda prompt: all(word.lower() in prompt.lower() for word in words)


def in_order(*words: str) -> Fact:
    return lambda prompt: (
        [m.group() for m in re.finditer("|".join(map(re.escape, words)), prompt)] == list(words)
    )


FACTS: dict[str, Fact] = {
    "one message, of the user": lambda prompt: re.findall(r"^=== (\w+)", prompt, re.M) == ["user"],
    "the issue between <issue> tags, as the user wrote it": has(f"<issue>\n{ISSUE}\n</issue>"),
    "issue first, then the files between <code> tags, then the form of the answer": in_order(
        "<issue>\n", "</issue>", "<code>\n", "</code>", "Answer with the tests"
    ),
    "the head says that the form is explained at the end": has("explained below the files"),
    "a file between [start of PATH] and [end of PATH], lines numbered from 1": has(
        '[start of shapes/line.py]\n1 """Numbers on a line."""\n', "\n[end of shapes/line.py]"
    ),
    "tests of the repository are in the context too": has("[start of tests/test_colour.py]"),
    "code outside of what is shown may be needed": has("other files", "installed packages"),
    "the task: find out what is wrong, and write tests that check a resolution": has(
        "find out what goes wrong", "write tests that check whether a change of the code resolves"
    ),
    "ours: they fail now and pass once it is resolved": has("fail on the code as it is"),
    "an example: a file before": has("for example", "[start of tests/test_clamp.py]\n1 from"),
    "... the edit, one that changes a test and adds another": lambda prompt: bool(
        re.search(r"extends? one test and adds? another", prompt)
    ),
    "... and the file after": has("The file is then:\n[start of tests/test_clamp.py]\n1 from"),
    "several edits and several files are allowed": has("several"),
    "as much reasoning as it likes": has("as long as you like"),
    "tests only, the issue is not to be resolved": has(
        "tests only: leave the resolution of the issue to others"
    ),
}
UNIFIED: dict[str, Fact] = {
    "in a fence ```diff": has("between ```diff and ```"),
    "two lines of header": has("\n--- a/path/of/test_file.py\n+++ b/path/of/test_file.py\n"),
    "a hunk's line of numbers, start and count": has("\n@@ -START,COUNT +START,COUNT @@\n"),
    "what stays begins with a space, + adds, - removes": has(
        'line that stays begins with a space, a line that is removed with "-"', 'added with "+"'
    ),
    "the custom form is not mentioned": lambda prompt: "custom-diff" not in prompt,
}
CUSTOM: dict[str, Fact] = {
    "in a fence ```custom-diff": has("between ```custom-diff and ```"),
    "a block: diff, path, verb, place, code, end diff": lambda prompt: bool(
        re.search(r"\ndiff\nPATH.*\nrewrite, insert.*\nWHERE.*\nTHE WHOLE.*\nend diff\n", prompt)
    ),
    "the place is a rough line number, EOF or BOF": has("WHERE: a rough line number, BOF", "EOF"),
    "code is inserted at BOF or EOF only": has('"insert" adds code, and only at BOF or EOF'),
    "rewrite gives the whole function anew": has("same name that is nearest to the line number"),
    "blocks are repeated as needed": has("repeat blocks as often as you need"),
    "a unified diff is not mentioned": lambda prompt: (
        "```diff" not in prompt and "@@" not in prompt
    ),
}


def check(prompt: str, facts: dict[str, Fact]) -> None:
    missing = [name for name, holds in facts.items() if not holds(prompt)]
    assert not missing, f"not in the prompt: {missing}"


@pytest.mark.parametrize("name", DRAFTS)
def test_facts_of_the_drafts(name: str, sent: dict[str, list[str]]) -> None:
    (prompt,) = sent[name]
    check(prompt, FACTS)
    method, given = VARIANTS[name]
    if not given.code_patch:  # a patch is a unified diff itself
        check(prompt, UNIFIED if method == "zeroshot" else CUSTOM)


def test_sampling(sent: dict[str, list[str]]) -> None:
    """Section 5.1: greedy for one answer, T = 0.7 for several; 5 of pass@5 and of LIBRO."""
    heads = {name: [text.split(" top_p")[0] for text in texts] for name, texts in sent.items()}
    assert heads["zeroshot"] == heads["zeroshotplus"] == ["n=1 temperature=0.0"]
    assert heads["pass@5"] == ["n=5 temperature=0.7"]
    assert heads["libro"][0] == "n=5 temperature=0.7"
    assert set(heads["libro"][1:]) == {"n=1 temperature=0.0"}


# -- Table 5 ---------------------------------------------------------------------------------------


def context(prompt: str) -> str:
    return prompt.partition("\n<code>\n")[2].partition("\n</code>\n")[0]


def order_of(prompt: str) -> list[str]:
    return re.findall(r"^\[start of (.*)\]$", context(prompt), re.M)


def test_nothing_is_given_unless_asked_for(sent: dict[str, list[str]]) -> None:
    (prompt,) = sent["zeroshotplus"]
    assert "Put the tests into" not in prompt
    assert "<patch>" not in prompt
    assert "return high" not in prompt


def test_test_files_that_are_given(sent: dict[str, list[str]]) -> None:
    (prompt,) = sent["zeroshotplus_test_file"]
    assert "Put the tests into tests/test_line.py." in prompt
    assert order_of(prompt)[0] == "tests/test_line.py", "it leads the context"
    assert "test_above" not in prompt, "the golden test itself is not in it"


def test_a_patch_that_is_given(sent: dict[str, list[str]]) -> None:
    (right,), (doubted,) = sent["zeroshotplus_patch"], sent["zeroshotplus_doubted_patch"]
    assert f"<patch>\n{FIX}\n</patch>" in right
    assert f"<patch>\n{FIX}\n</patch>" in doubted
    assert "This change of the code resolves the issue" in right
    assert "not applied yet" in right
    assert "Nobody has checked it" not in right
    assert "Nobody has checked it: it may resolve the issue, or not" in doubted
    assert "resolves the issue. It" not in doubted
    for prompt in (right, doubted):
        assert order_of(prompt)[0] == "shapes/line.py", "the files that it touches lead the context"
        assert prompt.index("</issue>") < prompt.index("<patch>") < prompt.index("\n<code>")


def test_both_at_once(sent: dict[str, list[str]]) -> None:
    for name in ("zeroshotplus_both", "zeroshot_both"):
        (prompt,) = sent[name]
        assert order_of(prompt)[:2] == ["tests/test_line.py", "shapes/line.py"]
        assert "Put the tests into tests/test_line.py." in prompt
        assert "Nobody has checked it" in prompt


# -- LIBRO -----------------------------------------------------------------------------------------

JUDGE: dict[str, Fact] = {
    "one message, of the user": FACTS["one message, of the user"],
    "its role: an experienced engineer of the project": has("experienced engineer of a project"),
    "the issue": has(f"<issue>\n{ISSUE}\n</issue>"),
    "somebody else's test that shall show it": has("somebody wrote a test", "+def test_above():"),
    "how it runs on the code as it is": has("code as it is now", "assert 0 == 9"),
    "the question: is this the behaviour that the user reports?": has(
        "because of the behaviour that the user reports"
    ),
    "yes or no": has('"yes" or "no"'),
    "ours: what is no failure of the issue": has("wrong import, a missing fixture"),
    "the golden patch is never seen": lambda prompt: "return high" not in prompt,
}


def test_libro_drafts_as_zeroshotplus_does(sent: dict[str, list[str]]) -> None:
    def words(text: str) -> str:
        return text.partition("\n")[2]

    assert words(sent["libro"][0]) == words(sent["zeroshotplus"][0]) == words(sent["pass@5"][0])


def test_facts_of_the_judge(sent: dict[str, list[str]]) -> None:
    first, *judgements = sent["libro"]
    assert first.startswith("n=5")
    assert judgements
    for prompt in judgements:
        check(prompt, JUDGE)


# -- the example, and the context's bound ----------------------------------------------------------


@pytest.mark.parametrize(("name", "form"), [("zeroshot", "diff"), ("zeroshotplus", "custom")])
def test_the_example_is_true(
    name: str, form: Form, sent: dict[str, list[str]], tmp_path: Path
) -> None:
    """The example's edits, read as an answer, make the file that is shown after them."""
    (prompt,) = sent[name]
    example = prompt[prompt.index("For example") :]
    start, end = "[start of tests/test_clamp.py]\n", "[end of tests/test_clamp.py]"
    parts = re.findall(re.escape(start) + r"(.*?)" + re.escape(end), example, re.S)
    before, after = (re.sub(r"^\d+ ?", "", part, flags=re.M) for part in parts)
    answer = example[example.index("```") : example.index("The file is then")]
    applied = read_edits(answer, form).apply({"tests/test_clamp.py": before}.get)
    assert applied.problems == ()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_clamp.py").write_text(before)
    subprocess.run(["git", "apply"], input=applied.patch, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "tests/test_clamp.py").read_text() == after


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, project: Project) -> Project:
    """A repository with far more code than a prompt may hold; half of it is about clamping."""
    folder = tmp_path_factory.mktemp("large") / "shapes"
    made = make_project(folder)
    for number in range(60):
        about = "clamp to the upper bound" if number % 2 else "mix of colours"
        body = "".join(f"def f{i}(x):\n    return x + {i}  # {about}\n" for i in range(40))
        (folder / "shapes" / f"more{number}.py").write_text(body)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "more")
    commit = git(folder, "rev-parse", "HEAD")
    return replace(made, problem=replace(made.problem, base_commit=commit))


@pytest.mark.parametrize("method", ["zeroshot", "zeroshotplus"])
def test_27_thousand_tokens_of_context(method: str, large: Project) -> None:
    """Section 5.1: at most 27k tokens of files; what is most like the issue is what is left."""
    assert CONTEXT_TOKENS == 27_000 == with_options(method)[1].context_tokens
    prompt = asked(large, method, Given())[0]
    code = context(prompt)
    assert 0.9 * CONTEXT_TOKENS < estimated_tokens(code) <= CONTEXT_TOKENS
    numbers = [int(n) for n in re.findall(r"\[start of shapes/more(\d+)\.py\]", code)]
    assert numbers
    assert all(number % 2 for number in numbers), "files without the issue's words are left out"
    assert "[start of shapes/line.py]" in code
