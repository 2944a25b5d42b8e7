import os
import threading
import unittest


class Ends(unittest.TestCase):
    def test_a_before(self):
        pass

    def test_b_fails_before(self):
        self.assertEqual(1, 2)

    def test_c_waits(self):
        for n in range(2):
            with self.subTest("part", n=n):
                if n == 1:
                    open(os.environ["STROBE_BEGUN"], "w").close()
                    threading.Event().wait()

    def test_d_after(self):
        pass
