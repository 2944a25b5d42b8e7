import pytest

tries = {"flaky": 0}


@pytest.mark.flaky(reruns=2)
def test_flaky():
    tries["flaky"] += 1
    assert tries["flaky"] == 2


@pytest.mark.flaky(reruns=2)
def test_never_passes():
    raise OSError("no disk")
