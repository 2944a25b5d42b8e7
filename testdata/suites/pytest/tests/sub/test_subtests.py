import unittest


def test_some(subtests):
    for i in range(3):
        with subtests.test("part", i=i):
            assert i != 1
    with subtests.test(msg="last"):
        pass


def test_own_failure(subtests):
    with subtests.test("fine"):
        pass
    assert "own" == "failure"


class Old(unittest.TestCase):
    def test_sub(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 2)

    def test_equal(self):
        self.assertEqual({"a": 1}, {"a": 2}, "dictionaries")

    @unittest.expectedFailure
    def test_known(self):
        self.fail("known")
