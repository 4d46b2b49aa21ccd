"""Options and steps that the verbs about issues share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.options import FILE, gathering

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from refute.issue.contract import Reproduction
    from refute.methods import Bounds, MethodSpec, Spawn
    from refute.models.asking import Asked
    from refute.models.session import Session
    from refute.problems import IssueProblem

__all__ = [
    "CheckoutOptions",
    "ReproducingOptions",
    "checkout_options",
    "chosen_reproducer",
    "in_checkout",
    "maybe_session",
    "method_option",
    "reproduced",
    "reproducing_options",
]


@dataclass(frozen=True, slots=True)
class ReproducingOptions:
    """What the options about a method for issues say; None where one was not given."""

    samples: int | None = None
    context_tokens: int | None = None
    agent: str | None = None
    tools: str | None = None
    network: bool | None = None
    calls: int = 60
    seconds: float = 1800.0
    test_seconds: float = 300.0

    @property
    def bounds(self) -> Bounds:
        """What one issue may cost."""
        from refute.methods import Bounds

        return Bounds(self.calls, self.seconds, self.test_seconds)

    def options_of(self, spec: MethodSpec[Any, Any]) -> Any:
        """The method's options: its defaults where none was given. Raises `InputError`."""
        from refute.methods import options_from

        known = {field.name for field in fields(spec.options)}
        given = {name: getattr(self, name) for name in _OF_METHODS if name in known}
        return options_from(spec, given)


_OF_METHODS = ("samples", "context_tokens", "agent", "tools", "network")
method_option = click.option(
    "--method", metavar="NAME", help="snippet; redgreen, zeroshotplus, libro... with a model."
)
_SECONDS = click.FloatRange(0, min_open=True)
_OPTIONS = (
    click.option(
        "--samples",
        type=click.IntRange(1),
        metavar="N",
        help="Drafts of libro (5).",
    ),
    click.option(
        "--context-tokens",
        type=click.IntRange(500),
        metavar="N",
        help="Of the repository, in one prompt (27000).",
    ),
    click.option(
        "--agent", metavar="CMD", help="Of external: a preset, or a command with {prompt_file}."
    ),
    click.option(
        "--tools",
        type=click.Choice(["auto", "native", "text"]),
        help="How an agent's model calls its tools (auto).",
    ),
    click.option(
        "--allow-network",
        "network",
        is_flag=True,
        default=None,
        help="Let the agent's command out of its jail: it reads your files and the network.",
    ),
    click.option(
        "--calls",
        type=click.IntRange(1),
        default=60,
        show_default=True,
        metavar="N",
        help="Samples of the model for one issue, at most.",
    ),
    click.option(
        "--seconds",
        type=_SECONDS,
        default=1800.0,
        show_default=True,
        help="For one issue, at most.",
    ),
    click.option(
        "--test-seconds",
        type=_SECONDS,
        default=300.0,
        show_default=True,
        help="For one run of tests.",
    ),
)


def reproducing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options about a reproducer, as one argument `how`."""
    return gathering(command, "how", ReproducingOptions, _OPTIONS)


@dataclass(frozen=True, slots=True)
class CheckoutOptions:
    """A user's own repository, and how its tests are run."""

    repo: Path = Path()
    python: Path | None = None
    runner: str | None = None


_CHECKOUT = (
    click.option(
        "-C", "repo", type=FILE, default=Path(), metavar="REPO", help="The checkout (here)."
    ),
    click.option(
        "--python", type=FILE, metavar="FILE", help="Interpreter of its tests (default: active)."
    ),
    click.option(
        "--runner",
        type=click.Choice(["pytest", "unittest", "django", "sympy"]),
        help="How its tests are started (default: read from it).",
    ),
)


def checkout_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options about a user's checkout, as one argument `checkout`."""
    return gathering(command, "checkout", CheckoutOptions, _CHECKOUT)


def in_checkout(checkout: CheckoutOptions, text: str) -> tuple[IssueProblem, Spawn]:
    """The problem that an issue poses in a user's checkout as it is now, and its workspaces.

    Nothing in the checkout is changed. Raises `InputError`, `WorkspaceUnavailable`.
    """
    from typing import cast

    from refute.errors import InputError
    from refute.problems import IssueProblem
    from refute.workspace.infer import infer_recipe
    from refute.workspace.opening import open_local, prepare
    from refute.workspace.recipe import Runner
    from refute.workspace.snapshot import checkout_root, snapshot

    python = checkout.python
    if python is not None and not python.is_file():
        raise InputError(f"--python {python}: no such file")
    root = checkout_root(checkout.repo)
    runner = cast("Runner | None", checkout.runner)
    interpreter = None if python is None else python.absolute()
    recipe = infer_recipe(root, interpreter=interpreter, runner=runner)
    folder, commit = snapshot(root)
    base = prepare(str(folder), commit, recipe, checkout=root)
    problem = IssueProblem(root.name, str(folder), commit, text, recipe)
    return problem, lambda: open_local(base)


def chosen_reproducer(
    method: str | None, how: ReproducingOptions, asked: Asked, *, graded: bool = False
) -> tuple[str, MethodSpec[Any, Reproduction], Any]:
    """Name, method and its options: the default where none is named.

    `graded`: an oracle grades the result, so that pass@k makes sense. Raises `InputError` where
    method and model do not go together.
    """
    from refute.errors import InputError
    from refute.issue.passes import (
        DEFAULT,
        DEFAULT_WITH_MODEL,
        issue_method,
        oracle_samples,
        with_samples,
    )

    name = method or (DEFAULT if asked.model is None else DEFAULT_WITH_MODEL)
    if oracle_samples(name) is not None and not graded:
        raise InputError(f"{name} chooses by the golden patch: it is a grading, not a method")
    spec = issue_method(name)
    options = with_samples(name, how.options_of(spec))
    if spec.asks_model and asked.model is None:
        raise InputError(f"--method {name} asks a model; name one with --model, e.g. openai:NAME")
    return name, spec, options


@asynccontextmanager
async def maybe_session(asked: Asked) -> AsyncIterator[Session | None]:
    """The session of the model that was named, or None where none was."""
    from refute.models.asking import open_sessions

    async with open_sessions(asked) as models:
        yield models.get("model")


async def reproduced(
    spec: MethodSpec[Any, Reproduction],
    options: Any,
    problem: IssueProblem,
    spawn: Spawn,
    asked: Asked,
    bounds: Bounds,
) -> Reproduction:
    """What the method finds for one issue, with the model that was named, if any: tests only."""
    from refute.issue.handing_in import only_tests
    from refute.methods import Context
    from refute.models.asking import open_sessions

    async with open_sessions(asked) as models:
        askers: dict[str, Any] = {place: one.asker(problem.id) for place, one in models.items()}
        ctx = Context(workspace=spawn, bounds=bounds, **askers)
        found = await spec(problem, ctx=ctx, options=options)
        return replace(found, prediction=only_tests(found.prediction))
