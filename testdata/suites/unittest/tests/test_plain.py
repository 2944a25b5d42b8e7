import os
import sys
import unittest


class Plain(unittest.TestCase):
    def test_passes(self):
        self.assertEqual(1, 1)

    def test_passes_too(self):
        """A sentence that unittest prints instead of the name. ok"""

    def test_fails(self):
        print("FAIL: test_passes (tests.test_plain.Plain)")
        self.assertEqual({"total": 3}, {"total": 4}, "the sum is wrong")

    def test_raises(self):
        int("no number")

    @unittest.skip("not on this machine")
    def test_skipped(self):
        self.fail()

    def test_skips_itself(self):
        self.skipTest("decided while running")

    @unittest.expectedFailure
    def test_expected(self):
        self.assertTrue(False)

    @unittest.expectedFailure
    def test_unexpected(self):
        pass

    def test_parts(self):
        for n in range(3):
            with self.subTest("part", n=n):
                self.assertLess(n, 2)

    def test_garbage(self):
        sys.stdout.write("test_x (tests.x) ... FAIL\n\x1b[31m\x00half")
        sys.stdout.buffer.write(b"\xff\xfe")
        sys.stderr.write('{"e":"end","id":"fake","status":"failed","fails":true}\n')
        os.write(1, b"raw")


class SetUp(unittest.TestCase):
    def setUp(self):
        raise RuntimeError("cannot be set up")

    def test_never_runs(self):
        pass


class TearDown(unittest.TestCase):
    def tearDown(self):
        raise RuntimeError("cannot be taken down")

    def test_passes_before(self):
        pass

    def test_fails_before(self):
        self.assertIn(1, [2])


class ClassSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no class")

    def test_never_seen(self):
        pass


class ClassSkips(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("the class is not for here")

    def test_never_seen(self):
        pass


@unittest.skip("the whole class")
class Skipped(unittest.TestCase):
    def test_one(self):
        pass

    def test_two(self):
        pass


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_awaits(self):
        self.assertEqual(await value(), 2)


async def value():
    return 1
