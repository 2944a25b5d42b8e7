# A program that has nothing compiled: it prints what is, at its end, too.
import sys


def f(x): return x


def look(event, args):
    if event == "compile":
        print("compiled", args[1])


f(1)
sys.addaudithook(look)
