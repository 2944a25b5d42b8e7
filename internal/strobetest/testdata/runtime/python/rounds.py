"""Does one round of calls for each line of its input: rounds.c and rounds.js are the same. "child" starts one of its own kind."""
import subprocess
import sys


def alpha(n):
    return n


def alphabet(n):
    return n


def beta(n):
    return alpha(n)


class Shop:
    def open(self):
        return 1

    def close(self):
        return -1


def main():
    shop = Shop()
    n = 0
    while True:
        line = sys.stdin.readline()
        if not line:
            break
        n += 1
        if line == "child\n":
            ended = subprocess.run([sys.executable, __file__], input="go\n", stdout=subprocess.PIPE, universal_newlines=True)
            print("child %d %r" % (ended.returncode, ended.stdout), flush=True)
        alphabet(n)
        beta(n)
        shop.open()
        shop.close()
        print("round %d" % n, flush=True)
    print("bye", flush=True)
    sys.exit(5)


main()
