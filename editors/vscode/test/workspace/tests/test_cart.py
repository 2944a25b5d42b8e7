def price(items):
    return sum(items)


def test_sum():
    assert price([1, 2, 3]) == 6


def test_wrong():
    items = [1, 2]
    assert price(items) == 4
