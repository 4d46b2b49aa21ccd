"""Working hours of a small team."""

from itertools import pairwise


def minutes(clock: str) -> int:
    """Minutes since midnight of a time written as "hh:mm".

    >>> minutes("00:45")
    45
    >>> minutes("09:30")
    570
    """
    hours, rest = clock.split(":")
    return int(hours) * 60 + int(rest)


def worked(shifts: list[tuple[str, str]]) -> int:
    """Total minutes of all shifts. A shift that ends before it starts runs over midnight.

    >>> worked([("09:00", "12:30")])
    210
    >>> worked([("09:00", "12:30"), ("13:15", "17:00")])
    435
    >>> worked([("22:00", "06:00")])
    480
    >>> worked([("20:30", "09:00"), ("10:00", "11:00")])
    810
    """
    total = 0
    for start, end in shifts:
        length = minutes(end) - minutes(start)
        if length < 0:
            length += 12 * 60
        total += length
    return total


def longest_break(shifts: list[tuple[str, str]]) -> int:
    """Longest pause between two shifts of one day, in minutes; 0 where there is none.

    >>> longest_break([("08:00", "10:00"), ("10:15", "12:00"), ("13:00", "16:00")])
    60
    >>> longest_break([("08:00", "10:00"), ("10:20", "16:00")])
    20
    >>> longest_break([("08:00", "16:00")])
    0
    """
    breaks = [minutes(b[0]) - minutes(a[1]) for a, b in pairwise(shifts)]
    return max(breaks)
