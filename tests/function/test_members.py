"""Which methods of a file's classes are looked at, and what is said of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.errors import InputError
from refute.function.target import open_target, problem_of

MODULE = '''\
import abc
from dataclasses import dataclass


class Cart(abc.ABC):
    """Things."""

    def __init__(self, tax):
        self.tax = tax

    def __add__(self, other):
        """Both.

        >>> Cart(1) + Cart(2)
        """

    def __len__(self):
        return 0

    @property
    def total(self):
        """What it costs."""
        return 1

    @total.setter
    def total(self, value):
        """Not this one."""

    @classmethod
    def of(cls, *names): ...

    @abc.abstractmethod
    def pay(self): ...

    def _hidden(self): ...

    async def later(self): ...

    class Line:
        def price(self): ...


class Small(Cart):
    def own(self): ...


@dataclass
class Point:
    x: int


class Wrong(Exception):
    pass


class _Private:
    def method(self): ...


def make():
    class Inside:
        def method(self): ...


if make:

    class Maybe:
        def method(self): ...
'''

CART = (
    "Cart.__init__", "Cart.__add__", "Cart.total", "Cart.of", "Cart.later", "Cart.Line.price",
)  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.py"
    path.write_text(MODULE)
    return path


def test_a_file_is_its_functions_and_the_methods_of_its_classes(file: Path) -> None:
    module = open_target(str(file))
    assert module.functions == (*CART, "Small.own", "make")
    assert module.skipped == (
        "Cart.pay: is abstract",
        "Point: has no method of its own but those that its decorator makes, which have no text",
        "Wrong: has no public method of its own",
        "make.Inside: is made inside of make, anew in each call",
        "Maybe: is made under a condition",
    )


def test_a_class_is_its_methods(file: Path) -> None:
    module = open_target(f"{file}::Cart")
    assert module.functions == CART
    assert module.skipped == ("Cart.pay: is abstract",)
    assert open_target(f"{file}::Cart.Line").functions == ("Cart.Line.price",)


def test_any_method_can_be_named(file: Path) -> None:
    for name in ("Cart._hidden", "Cart.__len__", "Cart.pay", "_Private.method"):
        assert open_target(f"{file}::{name}").functions == (name,)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Point", "shop.py::Point: has no public function; Point: has no method of its own but"),
        ("Small.total", "is inherited; name .*shop.py::Cart.total"),
        ("Cart.totl", r"Cart has no method totl; did you mean Cart.total\?"),
        ("Crt", r"has no function Crt; did you mean Cart\?"),
        ("Maybe", r"shop.py:\d+: Maybe is not at the file's top level"),
    ],
)
def test_what_cannot_be_looked_at(file: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_target(f"{file}::{name}")


def test_a_property_is_what_gets_it(file: Path) -> None:
    module = open_target(f"{file}::Cart.total")
    problem = problem_of(module, "Cart.total")
    assert problem.description == "What it costs."
    assert problem.entry_point == "Cart.total"
