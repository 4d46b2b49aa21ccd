"""Endings of other kinds, written after the gate was done, to see what it does with what nobody
thought of: see `benchmarks/gate_endings.py --more`."""

from __future__ import annotations

from .endings import CART, FAST, FIXED, RED, TESTS, Ending, edited, shop

__all__ = ["ENDINGS"]

ACCOUNT = '''"""Accounts."""


class Overdrawn(Exception):
    """There is not enough."""


class Account:
    """Money of somebody."""

    def __init__(self, balance=0):
        self.balance = balance

    def withdraw(self, amount):
        """Take an amount out."""
        self.balance -= amount
        return self.balance
'''
ACCOUNT_TESTS = """from bank.account import Account


class TestAccount:
    def test_withdraw(self, rich):
        assert rich.withdraw(30) == 70
"""
ACCOUNT_RED = """
    def test_never_overdrawn(self, rich):
        with pytest.raises(Overdrawn):
            rich.withdraw(101)
        assert rich.balance == 100
"""
RICH = "import pytest\n\nfrom bank.account import Account\n\n\n@pytest.fixture\ndef rich():\n"
BANK = {
    "pytest.ini": f"[pytest]\naddopts = {FAST}\n",
    "src/bank/__init__.py": "",
    "src/bank/account.py": ACCOUNT,
    "tests/conftest.py": f"{RICH}    return Account(100)\n",
    "tests/test_account.py": ACCOUNT_TESTS,
}
TABLE = """from shop.cart import parse, tax, total

CASES = [([1, 2], 0, 3), ([5], 2, 3), ([2.5], 0, 2.5)]


def test_total():
    for prices, less, expected in CASES:
        assert total(prices, less) == expected


def test_tax():
    assert tax(10) == 2.0


def test_parse():
    assert parse("1.50, 2") == [1.5, 2.0]
"""
FROM_FILE = """import json
from pathlib import Path

from shop.cart import parse

HERE = Path(__file__).parent


def test_parse():
    for line, prices in json.loads((HERE / "data" / "lines.json").read_text()).items():
        assert parse(line) == prices
"""
UTIL = "def check(actual, expected):\n    assert abs(actual - expected) < 0.001\n"
BY_UTIL = """from shop.cart import average, tax, total
from tests.util import check


def test_all():
    check(total([1, 2]), 3)
    check(tax(10), 2.0)
    check(average([1, 2]), 1.5)
"""
RENAMED = edited(CART, ("def parse(", "def parse_prices("), ("return result - discount",
                 "return max(0, result - discount)"))  # fmt: skip

RIGHT = (
    Ending(
        "a method, in a src layout, with fixtures",
        "",
        BANK,
        {
            "src/bank/account.py": edited(
                ACCOUNT,
                (
                    "        self.balance -= amount\n",
                    "        if amount > self.balance:\n            raise Overdrawn(amount)\n"
                    "        self.balance -= amount\n",
                ),
            ),
            "tests/test_account.py": edited(
                ACCOUNT_TESTS,
                (
                    "from bank.account import Account",
                    "import pytest\n\nfrom bank.account import Overdrawn",
                ),
            )
            + ACCOUNT_RED,
        },
    ),
    shop(
        "what tests share becomes a helper that demands as much",
        "",
        tests=edited(
            TESTS,
            ("def test_sum():\n    assert total([1, 2]) == 3\n", """\
def check(prices, less, expected):
    assert total(prices, less) == expected


def test_sum():
    check([1, 2], 0, 3)
"""),
            ("    assert total([5], 2) == 3\n", "    check([5], 2, 3)\n"),
        )
        + "\n\ndef test_never_below_zero():\n    check([1], 2, 0)\n",
    ),
    shop(
        "a function is renamed, and the change log says so",
        "",
        RENAMED,
        edited(TESTS, ("average, parse, tax", "average, parse_prices, tax"),
               ('= parse("1.50', '= parse_prices("1.50')) + RED,
        base={"CHANGELOG.md": "# Changes\n"},
        left={"CHANGELOG.md": "# Changes\n\n- `parse` is called `parse_prices` now; total() is"
              " never below zero; what imports `parse` must change: average, tax are as before.\n"},
    ),
)  # fmt: skip
WRONG = (
    shop(
        "cases of a table in a loop are thinned out",
        "not-weakened",
        edited(FIXED, ("result = sum(prices)", "result = int(sum(prices))")),
        edited(TABLE, (", ([2.5], 0, 2.5)]", "]")) + RED,
        base={"tests/test_cart.py": TABLE},
    ),
    shop(
        "a file of expected values is made to match",
        "expected-said",
        edited(FIXED, ("float(part) for", "int(float(part)) for")),
        FROM_FILE + "\n\ndef test_total():\n    from shop.cart import total\n\n"
        "    assert total([1], 2) == 0\n",
        base={"tests/test_cart.py": FROM_FILE, "tests/data/lines.json": '{"1.50, 2": [1.5, 2.0]}'},
        left={"tests/data/lines.json": '{"1.50, 2": [1, 2]}'},
    ),
    shop(
        "a second test of the same name takes the place of the first",
        "not-weakened",
        tests=TESTS + RED + "\n\ndef test_parse():\n    assert callable(parse)\n",
    ),
    shop(
        "a test gets a name under which nobody finds it",
        "no-test-lost",
        edited(FIXED, ("return sum(prices) / len(prices)", "return sum(prices) / 2")),
        edited(TESTS, ("def test_average_of_none", "def check_average_of_none")) + RED,
    ),
    shop(
        "a helper of the tests accepts nearly anything",
        "not-weakened",
        edited(FIXED, ("RATES[kind], 2)", "RATES[kind])")),
        BY_UTIL + RED,
        base={"tests/test_cart.py": BY_UTIL, "tests/__init__.py": "", "tests/util.py": UTIL},
        left={"tests/util.py": UTIL.replace("0.001", "1000")},
    ),
)
ENDINGS = (*RIGHT, *WRONG)
