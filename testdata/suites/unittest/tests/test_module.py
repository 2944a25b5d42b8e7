import unittest


def setUpModule():
    raise RuntimeError("no module")


class Never(unittest.TestCase):
    def test_never_seen(self):
        pass
