"""Inputs that a model writes where the search found nothing, or did not reach changed lines.

The model sees both versions, what was tried and which changed lines nothing executed. It writes
test functions, which are read as the project's own are (never executed as they stand), and whose
calls run on both sides like any other scenario. It learns the results, round by round. It
decides nothing: a difference counts only once it was seen twice on both sides.

Of a difference it says whether the change means it: stated, contradicted or not mentioned.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from refute.core.problems import Scenario
from refute.diffing.comparison import Comparison, Effort, Entry, Intent, Tried, observed_source
from refute.diffing.engine import Search
from refute.diffing.modules import Module, Unreadable
from refute.diffing.service import Compared, Comparer
from refute.function.llm.answers import code_spans, final_text
from refute.function.scenarios.observation import Observation
from refute.models.contract import Asker, Completion, Message, Sampling
from refute.prompts import render
from refute.source.syntax import first_line

_SAMPLING = Sampling(temperature=0.0, top_p=1.0, max_tokens=2048)
_MOST_INPUTS = 8
"""That are asked for in one round."""
_MOST_READ = 20
"""That are taken of one answer."""
_MOST_CODE = 12_000
_MOST_RESULT = 300
_MOST_INPUT = 1500


@dataclass(slots=True)
class _Talk:
    """The conversation about one function."""

    compared: Compared
    search: Search
    name: str
    """Callee, dotted in its module."""
    messages: list[Message]
    known: set[str] = field(default_factory=set)
    """Sources of what it has written so far."""

    @property
    def entry(self) -> Entry:
        return self.search.entry


async def with_written_inputs(
    functions: Sequence[Compared], comparer: Comparer, asker: Callable[[str], Asker], effort: Effort
) -> list[Compared]:
    """The functions, with what further inputs of the model's showed.

    All functions are asked about at once in each round, so that a batch holds a whole round.
    Raises what asking does, and `SandboxUnavailable`.
    """
    found = list(functions)
    talks = {place: talk for place, one in enumerate(found) if (talk := _opened(one, comparer))}
    left = effort.calls
    for _ in range(effort.rounds):
        asked = list(talks.items())[: max(0, left)]
        left -= len(asked)
        answers = await _answers([talk for _, talk in asked], asker)
        for (place, talk), answer in zip(asked, answers, strict=True):
            found[place] = _looked_at(talk, answer, comparer)
            if not _wants(found[place].comparison):
                del talks[place]
    return found


async def _answers(talks: Sequence[_Talk], asker: Callable[[str], Asker]) -> list[Completion]:
    async def one(talk: _Talk) -> Completion:
        function = talk.compared.function
        ask = asker(f"{function.after.file}::{function.qualname}")
        [answer] = await ask.ask(talk.messages, sampling=_SAMPLING)
        return answer

    # each is asked even where another fails: a batch is to hold them all
    given = await asyncio.gather(*map(one, talks), return_exceptions=True)
    for answer in given:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in given if isinstance(answer, Completion)]


def _wants(done: Comparison) -> bool:
    """Return whether more inputs could tell more."""
    if done.broken or done.within or done.entry is None:
        return False
    return not done.differences or bool(done.missed_before or done.missed_after)


def _opened(one: Compared, comparer: Comparer) -> _Talk | None:
    done = one.comparison
    if not _wants(done) or done.entry is None:
        return None
    search = Search.resumed(done, done.entry, comparer.sides, comparer.work.settings)
    if not search.is_open():
        return None
    name = done.entry.called_after
    return _Talk(one, search, name, [Message("user", _request(done, done.entry, comparer))])


def _looked_at(talk: _Talk, answer: Completion, comparer: Comparer) -> Compared:
    """Run what an answer holds; the conversation continues with its results."""
    read = _read(answer.text, talk, comparer)
    fresh = [one for one in read if one.source not in talk.known]
    talk.known |= {one.source for one in fresh}
    results = talk.search.given(fresh) if fresh else []
    done = talk.search.conclude()
    before = talk.compared.comparison
    done = replace(
        done,
        tried=before.tried,
        written=before.written + len(fresh),
        reason=before.reason if not (done.ran or done.differences) else "",
        seconds=before.seconds,
    )
    talk.compared = replace(talk.compared, comparison=done)
    talk.messages += [Message("assistant", answer.text), Message("user", _reply(talk, results))]
    return talk.compared


def _read(text: str, talk: _Talk, comparer: Comparer) -> list[Scenario]:
    text = final_text(text)
    blocks = [one for one in code_spans(text) if "\n" in one] or [text]
    files = [(f"test_written_{number}.py", block) for number, block in enumerate(blocks, 1)]
    return comparer.usage.written(talk.entry.after, talk.name, files)[:_MOST_READ]


# -- what is said to the model ---------------------------------------------------------------------


def _request(done: Comparison, entry: Entry, comparer: Comparer) -> str:
    function = done.function
    old, new = function.lines_before, function.lines_after
    before = comparer.old.read(function.before.file)
    after = comparer.new.read(function.after.file)
    return render(
        "change_inputs",
        differs=bool(done.differences),
        missed=bool(done.missed_before or done.missed_after),
        function=function.qualname,
        module=function.after.module,
        before=_marked(before, function.before.qualname, old, done.missed_before),
        after=_marked(after, function.after.qualname, new, done.missed_after),
        around=_around(done, entry),
        tried=[_shown(one) for one in done.tried],
        most=_MOST_INPUTS,
        called=entry.called_after,
        module_called=entry.after.name,
    )


def _reply(talk: _Talk, results: Sequence[Tried]) -> str:
    done = talk.compared.comparison
    return render(
        "change_inputs_results",
        results=[_shown(one) for one in results],
        called=talk.name,
        missed_before=_numbers(done.missed_before),
        missed_after=_numbers(done.missed_after),
        differs=bool(done.differences),
        most=_MOST_INPUTS,
    )


def _shown(one: Tried) -> dict[str, str]:
    return {
        "input": one.scenario.source[:_MOST_INPUT],
        "before": _outcome(one.before),
        "after": _outcome(one.after),
        "lines_before": _numbers(one.before.lines),
        "lines_after": _numbers(one.after.lines),
    }


def _outcome(seen: Observation) -> str:
    """Return what a call did and what it changed."""
    if seen.kind == "setup":
        return f"statement {seen.step + 1} raises {seen.error}: {seen.message}"[:_MOST_RESULT]
    parts = [observed_source(seen)[:_MOST_RESULT]]
    for kind, there in (("effect", seen.changed), ("output", seen.printed)):
        if there:
            parts.append(observed_source(seen, kind)[:_MOST_RESULT])
    return "; ".join(parts)


def _numbers(lines: Sequence[int] | frozenset[int]) -> str:
    return ", ".join(map(str, sorted(lines)))


def _marked(
    module: Module | Unreadable, name: str, changed: Sequence[int], missed: Sequence[int]
) -> str:
    """A definition with numbers of lines, and a mark at those that changed."""
    assert isinstance(module, Module)  # else nothing of it had been compared
    text = module.text.split("\n")
    lines: dict[int, str] = {}
    for node in module.found.functions[name].nodes:
        for number in range(first_line(node), (node.end_lineno or node.lineno) + 1):
            mark = "!" if number in missed else "*" if number in changed else " "
            lines[number] = f"{number:4}{mark} {text[number - 1]}"
    return "\n".join(lines[number] for number in sorted(lines))[:_MOST_CODE]


def _around(done: Comparison, entry: Entry) -> str:
    """Return how an instance is made, and the caller, where that is called."""
    module: Module = entry.after
    names = []
    owner = entry.name_after.rpartition(".")[0]
    if owner:
        names += [f"{owner}.__init__", f"{owner}.__new__"]
    if entry.caller:
        names.append(entry.name_after)
    own = done.function.qualname if not entry.caller else ""
    texts = [
        module.found.functions[n].source for n in names if n in module.found.functions and n != own
    ]
    if owner:
        texts.insert(0, f"class {owner}:  # {module.name}")
    return "\n".join(texts)[:_MOST_CODE]


_ONE_WORD = Sampling(temperature=0.0, top_p=1.0, max_tokens=400)
_MOST_ABOUT = 12_000
_MOST_END = 500
_WORDS: dict[str, Intent] = {
    "STATED": "stated",
    "CONTRADICTED": "contradicted",
    "SILENT": "not mentioned",
}
_WORD = re.compile(r"\b(STATED|CONTRADICTED|SILENT)\b")


async def with_intents(
    functions: Sequence[Compared], about: str, asker: Callable[[str], Asker]
) -> list[Compared]:
    """The functions, those that differ with what the model says. Raises what asking does."""

    async def one(compared: Compared) -> Compared:
        if not compared.comparison.differences:
            return compared
        ask = asker(f"{compared.function.after.file}::{compared.function.qualname}")
        prompt = render(
            "change_intent",
            about=about[:_MOST_ABOUT],
            function=compared.function.qualname,
            file=compared.function.after.file,
            differences=[
                {
                    "input": difference.scenario.source,
                    "before": observed_source(difference.before, difference.kind)[:_MOST_END],
                    "after": observed_source(difference.after, difference.kind)[:_MOST_END],
                }
                for difference in compared.comparison.differences
            ],
        )
        (answer,) = await ask.ask([Message("user", prompt)], sampling=_ONE_WORD)
        return replace(compared, intent=read_intent(answer.text))

    return list(await asyncio.gather(*map(one, functions)))


def read_intent(answer: str) -> Intent:
    """The last of the words that an answer holds; without any, nothing is said."""
    words = _WORD.findall(answer)
    return _WORDS[words[-1]] if words else "not mentioned"
