import os
import threading


def test_before():
    assert True


def test_fails_before():
    assert 1 == 2


def test_waits():
    open(os.environ["STROBE_BEGUN"], "w").close()
    threading.Event().wait()


def test_after():
    assert True
