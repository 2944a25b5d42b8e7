"""Calls a function very often, with a text of a kilobyte."""
import sys


def take(text):
    return None


def main(n):
    text = "x" * 1000
    for i in range(n):
        take(text)


main(int(sys.argv[1]))
