"""A shopping cart, with a bug in it: `refute debug examples/cart.py`."""

from __future__ import annotations


class Cart:
    """Things to be paid.

    >>> cart = Cart(tax=0.5)
    >>> cart.add("tea", 2.0, count=3)
    >>> cart.total()
    9.0
    """

    def __init__(self, tax: float = 0.0) -> None:
        self.tax = tax
        self.prices: dict[str, float] = {}

    def add(self, name: str, price: float, count: int = 1) -> None:
        """Put `count` pieces of something into the cart.

        >>> cart = Cart()
        >>> cart.add("milk", 1.5, count=2)
        >>> cart.add("milk", 1.5)
        >>> cart.prices
        {'milk': 4.5}
        """
        self.prices[name] = self.prices.get(name, 0.0) + price * count

    def total(self) -> float:
        """What all costs, tax included.

        >>> cart = Cart()
        >>> cart.add("tea", 2.0)
        >>> cart.add("milk", 1.5, count=2)
        >>> cart.total()
        5.0
        """
        return sum(self.prices.values()) * (1 - self.tax)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to be paid.

        >>> Cart().empty
        True
        """
        return not self.prices
