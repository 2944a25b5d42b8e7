def discount(total, tier):
    rate = {0: 0, 1: 5, 2: 10}[tier]
    return total * rate // 100


def checkout(items, tier):
    total = sum(price * count for price, count in items)
    off = discount(total, tier)
    return total - off


for day in range(3):
    paid = checkout([(250, 2), (180, day)], day)
    print(f"day {day}: paid {paid}")
