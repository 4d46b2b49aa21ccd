"""The house only gets smaller: no figure is above its ceiling, no ceiling far above its figure."""

from __future__ import annotations

from . import house


def test_no_figure_is_above_its_ceiling() -> None:
    now, most = house.figures(), house.ceilings()
    assert now.keys() == most.keys(), "one ceiling for each figure"
    above = {name: (now[name], most[name]) for name in now if now[name] > most[name]}
    assert above == {}, "a landing makes the house smaller, or says what the growth is worth"
    loose = {name: now[name] for name in now if most[name] > now[name] * 1.03 + 10}
    assert loose == {}, "lower these ceilings of house.toml to what was reached"
