"""Options and steps that the verbs about issues share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.asking import sessions
from refute.cli.options import FILE, gathering

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from refute.cli.options import ModelOptions
    from refute.issue.contract import Bounds, Reproducer, Reproduction, Spawn
    from refute.issue.methods import Options
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
    """What the options about a reproducer say."""

    samples: int = 5
    context_tokens: int = 27_000
    agent: str | None = None
    tools: str = "auto"
    network: bool = False
    calls: int = 60
    seconds: float = 1800.0
    test_seconds: float = 300.0

    @property
    def options(self) -> Options:
        """The part that methods read."""
        from refute.issue.methods import Options

        return Options(
            samples=self.samples,
            context_tokens=self.context_tokens,
            agent=self.agent,
            tools=self.tools,
            network=self.network,
        )

    @property
    def bounds(self) -> Bounds:
        """What one issue may cost."""
        from refute.issue.contract import Bounds

        return Bounds(self.calls, self.seconds, self.test_seconds)


method_option = click.option(
    "--method", metavar="NAME", help="snippet; redgreen, zeroshotplus, libro... with a model."
)
_SECONDS = click.FloatRange(0, min_open=True)
_OPTIONS = (
    click.option(
        "--samples",
        type=click.IntRange(1),
        default=5,
        show_default=True,
        metavar="N",
        help="Drafts of libro.",
    ),
    click.option(
        "--context-tokens",
        type=click.IntRange(500),
        default=27_000,
        show_default=True,
        metavar="N",
        help="Of the repository, in one prompt.",
    ),
    click.option(
        "--agent", metavar="CMD", help="Of external: a preset, or a command with {prompt_file}."
    ),
    click.option(
        "--tools",
        type=click.Choice(["auto", "native", "text"]),
        default="auto",
        show_default=True,
        help="How an agent's model calls its tools.",
    ),
    click.option(
        "--allow-network",
        "network",
        is_flag=True,
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
    method: str | None, how: ReproducingOptions, asked: ModelOptions, *, graded: bool = False
) -> tuple[str, Reproducer]:
    """Name and method: the default where none is given. `graded`: as `methods.reproducer`.

    Raises `InputError` where method and model do not go together.
    """
    from refute.errors import InputError
    from refute.issue.methods import DEFAULT, DEFAULT_WITH_MODEL, METHODS, reproducer

    name = method or (DEFAULT if asked.model is None else DEFAULT_WITH_MODEL)
    made = reproducer(name, how.options, graded=graded)
    if (name not in METHODS or METHODS[name].asks) and asked.model is None:
        raise InputError(f"--method {name} asks a model; name one with --model, e.g. openai:NAME")
    return name, made


@asynccontextmanager
async def maybe_session(asked: ModelOptions) -> AsyncIterator[Session | None]:
    """The session of the model that was named, or None where none was."""
    async with AsyncExitStack() as stack:
        if asked.model is None:
            yield None
        else:
            yield (await stack.enter_async_context(sessions(asked)))[0]


async def reproduced(
    reproduce: Reproducer, problem: IssueProblem, spawn: Spawn, asked: ModelOptions, bounds: Bounds
) -> Reproduction:
    """What the method finds for one issue, with the model that was named, if any: tests only."""
    from dataclasses import replace

    from refute.issue.handing_in import only_tests

    async with maybe_session(asked) as session:
        ask = None if session is None else session.asker(problem.id)
        working: Any = reproduce(problem, spawn, ask=ask, bounds=bounds)
        found: Reproduction = await working
        return replace(found, prediction=only_tests(found.prediction))
