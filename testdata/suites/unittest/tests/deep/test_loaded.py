import unittest


class Given(unittest.TestCase):
    def __init__(self, number):
        super().__init__("run_one")
        self.number = number

    def id(self):
        return "%s [number %d / a.b (c)]" % (super().id(), self.number)

    def run_one(self):
        self.assertNotEqual(self.number, 2)


def load_tests(loader, tests, pattern):
    return unittest.TestSuite(Given(n) for n in (1, 2, 2))
