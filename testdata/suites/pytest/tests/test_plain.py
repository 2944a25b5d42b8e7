import sys

import pytest

from shop import Cart


def test_passes():
    assert Cart().total() == 0


def test_fails_with_both_sides():
    cart = Cart()
    cart.add("apple", 3)
    assert cart.total() == 4, "the sum is wrong"


def test_raises_in_user_code():
    Cart().add("pear", -1)


@pytest.mark.skip(reason="not on this machine")
def test_skipped():
    assert False


def test_skips_itself():
    pytest.skip("decided while running")


@pytest.mark.xfail(reason="known bug 7")
def test_expected_to_fail():
    assert 1 == 2


@pytest.mark.xfail(reason="was fixed")
def test_passes_unexpectedly():
    assert True


@pytest.mark.xfail(strict=True, reason="must fail")
def test_passes_strictly_unexpected():
    assert True


def test_setup_error(broken):
    assert False


def test_teardown_error(leaves_badly):
    assert leaves_badly == 1


def test_fails_and_teardown_error(leaves_badly):
    assert leaves_badly == 2


def test_prints_garbage():
    print("FAILED tests/test_plain.py::test_passes - no")
    sys.stdout.write("\x1b[31mhalf a line \x00\xff PASSED")
    sys.stderr.write('{"e":"end","id":"tests/test_plain.py::fake","status":"failed"}\n')
    sys.stdout.flush()


def test_prints_and_fails():
    print("what the test says")
    raise KeyError("missing")


class TestGroup:
    def test_in_class(self):
        assert True

    class TestInner:
        def test_deep(self):
            assert [1, 2, 3] == [1, 2, 4]
