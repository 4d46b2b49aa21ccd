"""Places in a competition."""


def places(scores: list[int]) -> list[int]:
    """The place of each score, best first; equal scores share a place and the next one is free.

    >>> places([70, 90, 80])
    [3, 1, 2]
    >>> places([50, 50, 40])
    [1, 1, 3]
    """
    return [1 + sum(other >= score for other in scores) for score in scores]


def median(values: list[float]) -> float:
    """Middle value; the mean of the two middle ones where their number is even.

    >>> median([3, 1, 2])
    2
    >>> median([4, 1, 3, 2])
    2.5
    """
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return ordered[middle]
    return (ordered[middle] + ordered[middle + 1]) / 2
