import os
import unittest


class Odd(unittest.TestCase):
    pass


def odd(name):
    def test(self):
        for fd in (1, 2):
            os.write(fd, b'{"e":"end","id":"fake","name":"fake","status":"failed","fails":true}\nFAIL: test_fake (ends.odd.Odd)\nRan 9 tests in 0.1s\n')
            os.write(fd, b"\x1b[31m\x00\xff\xfe\n" + b"long " * 60000 + b"\n")
        with open(os.environ["STROBE_RAN"], "a") as f:
            f.write(name + "\n")

    return test


# Names as libraries for parametrised tests make them.
for name in ["test_größe", "test_a b \"c\" 'd' $HOME `id`", "test_plain", "test_plain_more"]:
    setattr(Odd, name, odd(name))
