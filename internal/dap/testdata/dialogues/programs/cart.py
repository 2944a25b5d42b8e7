import sys


class Item:
    def __init__(self, name, price):
        self.name = name
        self.price = price


def price(item, n):
    größe = "世界 🌍"; p = item.price * n  # @product
    return p  # @priced


def check(n):
    if n > 3:
        raise ValueError("too many")  # @raise
    return n


many = list(range(10000))
text = "ab" * 100000
total = 0
for item in [Item("pear", 3), Item("fig", 5)]:
    total += price(item, 2)  # @each
print("total", total)
try:
    check(4)
except ValueError as e:
    print("caught", e)
if len(sys.argv) > 1:
    check(5)
print("end")  # @end
