import asyncio
import threading


class Item:
    def __init__(self, name, price):
        self.name = name
        self.price = price


def price(item, n):
    return item.price * n


async def fetch(n):
    await asyncio.sleep(0.001 * (n % 3 + 1))
    return price(Item("pear", n), 2)


async def gathered():
    for r in range(4):
        print("round", r, sum(await asyncio.gather(*[fetch(i) for i in range(4)])))


def work(n):
    for i in range(150):
        price(Item("fig", i), n)


workers = [threading.Thread(target=work, args=(n,)) for n in range(2)]
for w in workers:
    w.start()
asyncio.run(gathered())
for w in workers:
    w.join()
