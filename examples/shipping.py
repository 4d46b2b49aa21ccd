"""Shipping of a small web shop: what a parcel costs, and which items go into one."""

FREE_FROM = 50.0  # euros


def shipping_cost(subtotal: float, weight: float) -> float:
    """Cost of sending one order, in euros.

    Orders of at least 50 euros ship free. Below that, a parcel costs 4.90 up to and
    including 2 kg, and 1.20 for every further started kilogram.

    >>> shipping_cost(80.0, 9.5)
    0.0
    >>> shipping_cost(50.0, 1.0)
    0.0
    >>> shipping_cost(49.5, 1.0)
    4.9
    >>> shipping_cost(20.0, 2.0)
    4.9
    >>> shipping_cost(20.0, 2.5)
    6.1
    """
    if subtotal > FREE_FROM:
        return 0.0
    cost, left = 4.90, weight - 2
    while left > 0:
        cost += 1.20
        left -= 1
    return round(cost, 2)


def split_parcels(weights: list[float], limit: float) -> list[list[float]]:
    """Pack items into parcels, in order; start a new parcel when the limit would be exceeded.

    >>> split_parcels([1.0, 2.0, 3.0], 3.0)
    [[1.0, 2.0], [3.0]]
    >>> split_parcels([2.0, 2.0, 2.0], 5.0)
    [[2.0, 2.0], [2.0]]
    >>> split_parcels([2.5, 0.5, 0.75], 3.0)
    [[2.5, 0.5], [0.75]]
    >>> split_parcels([5.0], 10.0)
    [[5.0]]
    >>> split_parcels([], 10.0)
    []
    """
    parcels = []
    current = []
    for weight in weights:
        if current and sum(current) + weight >= limit:  # the parcel is full
            parcels.append(current)
            current = []
        current.append(weight)
    if current:
        parcels.append(current)
    return parcels
