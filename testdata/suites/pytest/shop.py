"""The code under test."""


class Cart:
    def __init__(self):
        self.items = []

    def add(self, name, price):
        if price < 0:
            raise ValueError("negative price: %r" % price)
        self.items.append((name, price))

    def total(self):
        return sum(price for _, price in self.items)
