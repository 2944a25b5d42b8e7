# shop has what an adapter shows: locals of several kinds, a list of 1,000, lines to step over, calls, an exception.
import sys


class Item:
    def __init__(self, name, cents, next):
        self.name = name
        self.cents = cents
        self.next = next


class Data:
    def __init__(self, first):
        self.list = [i * 3 for i in range(1000)]
        self.table = {str(i): i for i in range(1000)}
        self.name = "shop"
        self.first = first
        self.sold = 0


def twice(n): return n * 2
def more(n): return n + 1


def work(n, data):
    a = n
    b = a + 1
    share = b / 2.0
    word = "pear"
    a += 1
    b += a
    a += 2
    b += a
    a += 3
    b += a
    a += 4
    b += a
    a += 5
    b += a
    a += 6
    b += a
    a += 7
    b += a
    a += 8
    b += a
    c = twice(n) + more(n)  # calls
    data.sold += c  # sold
    share += len(word)
    a += n  # told
    b += 1
    return a + b + c + int(share)  # end


def fail(n):
    if n > 0:
        raise ValueError("too many")


def main(rounds):
    data = Data(Item("apple", 50, Item("pear", 70, None)))
    total = 0
    for i in range(1, rounds + 1):
        total += work(i, data)
    try:
        fail(1)
    except ValueError as e:
        print("caught", e)
    print("total", total)


main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000000000)
