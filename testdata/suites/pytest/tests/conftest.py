import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture
def broken():
    raise RuntimeError("the fixture cannot be made")


@pytest.fixture
def leaves_badly():
    yield 1
    raise RuntimeError("the fixture cannot be taken down")
