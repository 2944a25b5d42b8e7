import pytest

pytest.importorskip("a_module_that_is_not_there", reason="needs a module")


def test_never_seen():
    pass
