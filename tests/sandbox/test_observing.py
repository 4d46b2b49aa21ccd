"""Scenarios: what the observed expression did is seen by fields, also where objects lie."""

from __future__ import annotations

import pytest

from refute.core.problems import Scenario
from refute.function.scenarios.observation import Observation, observe, same_value
from refute.sandbox import Limits, Program
from refute.sandbox.local import LocalSandbox

CODE = """
import asyncio

class Cart:
    def __init__(self, tax=0):
        self.tax = tax
        self.items = {}

    def add(self, name, n):
        self.items[name] = n

    def total(self):
        if self.tax:
            return sum(self.items.values()) * (1 + self.tax)
        return sum(self.items.values())

    @property
    def names(self):
        return list(self.items)

    async def later(self, n):
        await asyncio.sleep(0)
        return n

    async def ticks(self, n):
        for i in range(n):
            yield i

def push(items):
    items.append(1)

def show(n):
    print("n is", n)

def endless():
    while True:
        yield 1

def refuse(n):
    raise KeyError(n)

class Adder:
    def __init__(self, n): self.n = n
    def __call__(self, other): return self.n + other

class Steps:
    def __init__(self, most, label="a"):
        self.left, self.label, self._at = iter(range(most)), label, 0
    def __iter__(self): return self
    def __next__(self):
        if self.label == "broken": raise RuntimeError
        return next(self.left)
    def relabel(self, label): self.label = label
    def skip(self): next(self.left)

class Holder:
    def __init__(self, items): self.items = items
    def first(self): return next(self.items)

def tracer(n):
    import sys
    sys.settrace(None)
    if n:
        return 1
    return 2

def quits(): raise SystemExit(0)

def closes():
    import sys
    sys.stdout.close()
    return 1
"""
LINES = {text.strip(): number for number, text in enumerate(CODE.splitlines(), 1)}


def seen(box: LocalSandbox, expression: str, *setup: str, **more: object) -> Observation:
    scenario = Scenario(expression, setup, **more)  # type: ignore[arg-type]
    return observe(box, Program(CODE, "Cart"), [scenario])[0]


def test_what_a_method_returns_and_which_lines_it_executes(box: LocalSandbox) -> None:
    taxed, plain = (
        LINES["return sum(self.items.values()) * (1 + self.tax)"],
        LINES["self.tax = tax"],
    )
    found = seen(
        box,
        "c.total()",
        'c = Cart(tax=D("0.5"))',
        'c.add("a", 2)',
        imports=(("D", "decimal:Decimal"),),
        lines=(taxed, taxed + 1, plain),
    )
    assert (found.kind, str(found.value), found.lines) == ("returned", "3.0", {taxed, plain})


def test_a_changed_receiver_and_a_changed_argument_are_seen(box: LocalSandbox) -> None:
    [(name, before, after)] = seen(box, 'c.add("b", [3])', "c = Cart()").changed
    assert (name, dict(before.attributes)["items"], dict(after.attributes)["items"]) == (
        "self", {}, {"b": [3]},
    )  # fmt: skip
    assert seen(box, "push(x)", "x = []").changed == (("argument 1", [], [1]),)
    assert seen(box, "push(items=[])").changed == (("argument items", [], [1]),)


def test_properties_output_and_exceptions(box: LocalSandbox) -> None:
    assert seen(box, "c.names", "c = Cart()", 'c.add("a", 1)').value == ["a"]
    assert seen(box, "show(3)").printed == "n is 3\n"
    raised = seen(box, "refuse(3)")
    assert (raised.kind, raised.error, raised.bases[0], raised.inside) == (
        "raised", "KeyError", "LookupError", True,
    )  # fmt: skip
    wrong = seen(box, "refuse()")
    assert (wrong.error, wrong.inside, wrong.misused) == ("TypeError", False, True)


def test_coroutines_are_awaited_and_generators_are_read_within_bounds(box: LocalSandbox) -> None:
    assert seen(box, "c.later(3)", "c = Cart()").value == 3
    assert seen(box, "c.total()", "c = Cart()", "x = c.later(2)", 'c.add("a", x)').value == 2
    assert seen(box, "c.ticks(3)", "c = Cart()").value.items == (0, 1, 2)
    many = seen(box, "endless()").value
    assert many.more
    assert set(many.items) == {1}


def test_what_fails_before_the_expression_is_no_answer(box: LocalSandbox) -> None:
    found = seen(box, "c.total()", "c = Cart()", "c.add()")
    assert (found.kind, found.step, found.error, found.answered) == ("setup", 1, "TypeError", False)


def test_a_scenario_leaves_no_names_and_no_files_to_the_next(box: LocalSandbox) -> None:
    first = Scenario("open('f', 'w').write('x')", ("left = 1",))
    second = Scenario("('left' in globals(), os.listdir('.'))", imports=(("os", "os"),))
    found = observe(box, Program(CODE, "Cart"), [first, second])[1]
    assert found.value == (False, [])


def test_objects_that_hide_their_state_are_never_comparable(box: LocalSandbox) -> None:
    assert not seen(box, "__import__('zlib').compressobj()").comparable


@pytest.mark.parametrize("expression", ["quits()", "closes()", "tracer(1)"])
def test_programs_that_break_the_observer_say_nothing_of_others(
    box: LocalSandbox, expression: str
) -> None:
    program = Program(CODE, "Cart")
    found = observe(box, program, [Scenario(expression), Scenario("show(1)")])
    assert found[1].printed == "n is 1\n"
    if expression == "quits()":
        assert (found[0].kind, found[0].error) == ("raised", "SystemExit")


def test_a_record_that_was_forged_is_none(box: LocalSandbox) -> None:
    hostile = CODE + (
        "\nimport sys\n"
        "for module in list(sys.modules.values()): pass\n"
        "def forge():\n"
        "    frame = sys._getframe()\n"
        "    while frame and 'codec' not in frame.f_locals: frame = frame.f_back\n"
        "    kind = type(frame.f_locals['codec'])\n"
        "    codec = frame.f_locals['codec']\n"
        "    codec.observed = lambda value, **_: ('v', ['not', 'plain', object])\n"
        "    return 1\n"
    )
    found = observe(box, Program(hostile, "forge"), [Scenario("forge()"), Scenario("show(1)")])
    assert not found[0].answered or found[0].value != 1
    fresh = observe(box, Program(CODE, "Cart"), [Scenario("show(1)")])
    assert fresh[0].printed == "n is 1\n"


def test_what_never_ends_costs_the_others_nothing(box: LocalSandbox) -> None:
    program = Program(CODE + "\ndef spin():\n    while True: pass\n", "spin")
    limits = Limits(cpu=0.2)
    found = observe(box, program, [Scenario("spin()"), Scenario("show(1)")], limits)
    assert [one.kind for one in found] == ["cut short", "returned"]
    assert found[0].error == "never ends"


def test_an_instance_that_can_be_called_is_told_by_its_fields(box: LocalSandbox) -> None:
    one = seen(box, "Adder(1)")
    assert one.comparable
    assert same_value(one.value, seen(box, "Adder(1)").value)
    assert not same_value(one.value, seen(box, "Adder(2)").value)
    assert not seen(box, "lambda: 1").comparable


def test_an_iterator_that_is_an_object_is_told_by_its_items_and_public_fields(
    box: LocalSandbox,
) -> None:
    def differ(one: str, other: str) -> bool:
        return not same_value(seen(box, one).value, seen(box, other).value)

    assert not differ("Steps(2)", "Steps(2)")
    assert differ("Steps(2)", "Steps(3)")
    assert differ("Steps(2)", 'Steps(2, "b")')
    assert seen(box, 'Steps(2, "broken")').kind == "returned"
    [(name, before, after)] = seen(box, 's.relabel("b")', "s = Steps(1)").changed
    assert (name, dict(before.attributes)["label"], dict(after.attributes)["label"]) == (
        "self", "a", "b",
    )  # fmt: skip


def test_looking_at_what_a_call_is_given_uses_no_iterator_up(box: LocalSandbox) -> None:
    held = seen(box, "h.first()", "h = Holder(iter([1, 2]))")
    assert held.value == 1
    [(_, before, after)] = held.changed  # a list's iterator is copied
    assert [dict(one.attributes)["items"].items for one in (before, after)] == [(1, 2), (2,)]
    lazy = seen(box, "h.first()", "h = Holder(n for n in [1, 2])")
    assert (lazy.value, lazy.changed) == (1, ())  # nobody can tell
