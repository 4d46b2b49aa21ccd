"""The reproducers by name. Each is a composition of shared parts; its parameters are the papers'.

A method's module is imported when it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from refute.errors import InputError
from refute.issue.context import CONTEXT_TOKENS
from refute.issue.contract import Reproducer
from refute.issue.zeroshot import Given

__all__ = ["DEFAULT", "DEFAULT_WITH_MODEL", "METHODS", "Options", "oracle_samples", "reproducer"]

DEFAULT, DEFAULT_WITH_MODEL = "snippet", "redgreen"

_PASS_AT = re.compile(r"pass@([1-9]\d?)")


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may set of a method; each method reads its own part."""

    samples: int = 5
    """Drafts of `libro`."""
    given: Given = field(default_factory=Given)
    context_tokens: int = CONTEXT_TOKENS
    """Tokens of repository context."""
    agent: str | None = None
    """Command of `external`, or the name of a preset."""
    tools: str = "auto"
    """How an agent's tools are called: `native`, `text`, or as the model does (`auto`)."""
    network: bool = False
    """Let the command of `external` out of its jail and onto the network."""


@dataclass(frozen=True, slots=True)
class MethodSpec:
    """A method: what it does in one line, whether it asks a model, and how it is made."""

    summary: str
    asks: bool
    make: Callable[[Options], Reproducer]
    told: bool = False
    """Whether it can be given test files and a code patch (`Options.given`, Table 5)."""


def _zeroshot(method: str, options: Options) -> Reproducer:
    from refute.issue.zeroshot import form_of, zeroshot

    return partial(
        zeroshot,
        form=form_of(method),
        given=options.given,
        context_tokens=options.context_tokens,
    )


def _libro(options: Options) -> Reproducer:
    from refute.issue.libro import libro

    return partial(
        libro,
        samples=options.samples,
        given=options.given,
        context_tokens=options.context_tokens,
    )


def _snippet(options: Options) -> Reproducer:
    from refute.issue.snippet import snippet

    return snippet


def _autocoderover(options: Options) -> Reproducer:
    from refute.issue.autocoderover import autocoderover

    return autocoderover


def _sweagent(plus: bool, options: Options) -> Reproducer:
    from refute.issue.sweagent import sweagent

    return partial(sweagent, plus=plus, tools=options.tools)


def _external(options: Options) -> Reproducer:
    from refute.issue.external import chosen_agent, external

    chosen_agent(options.agent, network=options.network)  # what is wrong is said before any work
    return partial(external, agent=options.agent, network=options.network)


def _redgreen(options: Options) -> Reproducer:
    from refute.issue.redgreen import redgreen

    return partial(redgreen, given=options.given, context_tokens=options.context_tokens)


METHODS: Mapping[str, MethodSpec] = {
    "snippet": MethodSpec("what the issue itself contains, run; no model", False, _snippet),
    "zeroshot": MethodSpec(
        "BM25 context, one answer as a unified diff", True, partial(_zeroshot, "zeroshot"), True
    ),
    "zeroshotplus": MethodSpec(
        "the same with the custom diff", True, partial(_zeroshot, "zeroshotplus"), True
    ),
    "redgreen": MethodSpec(
        "drafts of tests and fixes that try each other, repaired and judged", True, _redgreen, True
    ),
    "libro": MethodSpec("drafts, run on the original code, chosen by a judge", True, _libro, True),
    "autocoderover": MethodSpec("searches over the code, then tests", True, _autocoderover),
    "swe-agent": MethodSpec(
        "an agent with commands to search, view, edit and run", True, partial(_sweagent, False)
    ),
    "swe-agent+": MethodSpec(
        "the same, told and reminded to run its tests", True, partial(_sweagent, True)
    ),
    "external": MethodSpec("any coding agent, as a command (--agent)", False, _external),
}


def oracle_samples(method: str) -> int | None:
    """k of `pass@k`, whose best sample an oracle grader picks; None for a method proper."""
    match = _PASS_AT.fullmatch(method)
    return int(match.group(1)) if match else None


def reproducer(method: str, options: Options, *, graded: bool = False) -> Reproducer:
    """The method of that name.

    Raises `InputError` for an unknown one, and for one that would not look at what it is given.

    `pass@k` is k samples of `zeroshotplus` for the oracle grader to choose from; it is available
    only where the result is graded (`graded`), for without the golden patch nothing can choose.
    """
    samples = oracle_samples(method)
    if samples is not None:
        if not graded:
            raise InputError(f"{method} chooses by the golden patch: it is a grading, not a method")
        from refute.issue.zeroshot import zeroshot

        return partial(
            zeroshot,
            form="custom",
            samples=samples,
            given=options.given,
            context_tokens=options.context_tokens,
        )
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; one of {', '.join(METHODS)}")
    if options.given != Given() and not METHODS[method].told:
        able = ", ".join(name for name, spec in METHODS.items() if spec.told)
        raise InputError(f"{method} cannot be given test files or a patch; {able} and pass@k can")
    return METHODS[method].make(options)
