import sys
import unittest


class Ends(unittest.TestCase):
    def test_leaves(self):
        sys.exit(3)

    def test_then(self):
        pass
