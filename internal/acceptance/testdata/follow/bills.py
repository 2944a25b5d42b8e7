"""Bills of 60 orders. One is too dear; the output says that, not why."""


class Order:
    def __init__(self, number, cents, code):
        self.number, self.cents, self.code = number, cents, code


RATES = {"SPRING": 5, "SUMMER": 10, "WINTER": 20}


def rate_of(code):
    if code in RATES:
        return RATES[code]


def price(order):
    rate = rate_of(order.code)
    return order.cents - order.cents * (rate or 0) // 100


def orders():
    codes = list(RATES)
    for n in range(60):
        code = codes[n % 3]
        yield Order(n, 1000 + n * 37 % 900, code.title() if n == 41 else code)


def main():
    total = sum(price(o) for o in orders())
    print(f"total {total}, the shop said {total - 151}")


main()
