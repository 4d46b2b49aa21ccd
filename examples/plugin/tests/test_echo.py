"""The example's model does what every model must do."""

import pytest
from refute_plugin_example import echo

from refute.testing.models import CHECKS, Check, Subject, conform


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conformance(check: Check) -> None:
    conform(check, Subject(open=echo))
