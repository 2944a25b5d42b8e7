import os
import sys

import pytest

NAMES = ["-x \"a\" 'b' $HOME `id` \\ !", "a.*b (c) [d] {e} ^|+? / ü <k> & # % ; ~ :: x", "plain", "plain more"]


@pytest.fixture(autouse=True)
def noise():
    for fd in (1, 2):
        os.write(fd, b'{"e":"end","id":"fake","name":"fake","status":"failed","fails":true}\nFAILED ends/test_odd.py::fake - no\n')
        os.write(fd, b"\x1b[31m\x00\xff\xfe\n" + b"long " * 60000 + b"\n")
    sys.stdout.write("1 failed, 9 passed in 0.01s\n")


@pytest.mark.parametrize("name", NAMES, ids=NAMES)
def test_odd(name):
    with open(os.environ["STROBE_RAN"], "a") as f:
        f.write(name + "\n")
