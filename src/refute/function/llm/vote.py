"""Self-consistency over sampled outputs: the vote of UTDebug (section 3.3 of the paper).

k outputs are sampled for one input; the most common one *by value* wins, and is believed when it
has at least half of the k votes. An unreadable answer is a vote for nothing. Of two outputs with
as many votes the one seen first wins.

Sampling stops as soon as no further sample can change the outcome. At every step exactly the fewest
samples are asked for after which it could stop, so that it never asks for more than one by one
would, and yet asks in few requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from refute.function.llm.answers import Written, read_output
from refute.function.llm.asking import samples
from refute.function.llm.options import Options
from refute.function.llm.record import Output, Unreadable, Vote
from refute.function.llm.settle import settle_output
from refute.models.contract import Asker, Completion, Message
from refute.sandbox.equality import equal
from refute.sandbox.pool import AsyncSandbox

__all__ = ["ballot", "decided", "fewest", "same_output"]


async def ballot(
    messages: Sequence[Message],
    entry_point: str,
    *,
    ask: Asker,
    box: AsyncSandbox,
    options: Options,
    seed: int,
) -> Vote:
    """Sample the output that `messages` ask for until the outcome of the vote is certain.

    Raises what `Asker.ask` raises (but `ContextTooLong`, which is a vote for nothing), and
    `SandboxUnavailable`.
    """
    k, needed = options.k, (options.k + 1) // 2
    classes: list[Output] = []
    counts: list[int] = []
    nothing: Counter[Unreadable] = Counter()
    asked = 0
    while not decided(counts, k - asked, needed):
        more = fewest(counts, k - asked, needed)
        answers = await samples(ask, messages, first=asked, n=more, sampling=options.sampling(seed))
        asked += more
        for answer in answers:
            output = await _output(answer, entry_point, box)
            if isinstance(output, Unreadable):
                nothing[output] += 1
                continue
            for number, known in enumerate(classes):
                if same_output(output, known):
                    counts[number] += 1
                    break
            else:
                classes.append(output)
                counts.append(1)
    support = max(counts, default=0)
    winner = classes[counts.index(support)] if support >= needed else None
    return Vote(
        k=k,
        asked=asked,
        counts=tuple(zip(classes, counts, strict=True)),
        unreadable=tuple(sorted(nothing.items())),
        winner=winner,
        support=support if winner is not None else 0,
    )


async def _output(
    answer: Completion | None, entry_point: str, box: AsyncSandbox
) -> Output | Unreadable:
    if answer is None:
        return Unreadable.CONTEXT
    written: Written | None = read_output(answer.text, entry_point)
    if written is None and not answer.text.strip():
        return Unreadable.EMPTY
    return await settle_output(written, box)


def same_output(one: Output, other: Output) -> bool:
    """Whether two expected outputs are the same by value, `other` taken for the right one."""
    if one.raises is not None or other.raises is not None:
        return one.raises == other.raises
    return equal(one.value, other.value)


def decided(counts: Sequence[int], left: int, needed: int) -> bool:
    """Whether `left` more samples can no longer change the outcome of a vote.

    `counts`: votes of the distinct outputs, in the order in which they were first seen. The outcome
    is the output with the most votes, the first seen of equals, if it has `needed`; else none.
    """
    most = max(counts, default=0)
    if most + left < needed:
        return True  # none will have enough
    if most < needed:
        return False
    leader = list(counts).index(most)
    rivals = [*counts, 0]  # the last: an output that was not seen yet
    for number, count in enumerate(rivals):
        reach = count + left
        if number != leader and (reach > most or (reach == most and number < leader)):
            return False
    return True


def fewest(counts: Sequence[int], left: int, needed: int) -> int:
    """The least number of further samples after which the outcome could be certain, at least 1.

    The outcome becomes certain soonest when all of them agree on one output, or none is readable.
    """
    for more in range(1, left):
        rest = left - more
        if decided(counts, rest, needed):
            return more
        for number in range(len(counts) + 1):
            grown = [*counts, 0]
            grown[number] += more
            if decided(grown, rest, needed):
                return more
    return max(left, 1)
