# A graph of which every node leads to all others, handed on in each call; and a function that is called once.


class Node:
    def __init__(self, i):
        self.id = i
        self.label = "node %d" % i
        self.next = []
        self.attributes = {"kind": "wide", "weights": [i, i + 1, i + 2], "owner": {"name": "o%d" % i, "tags": ("a", "b")}}


def walk(node, text, flag):
    return node


def once(node):
    return 1


nodes = [Node(i) for i in range(60)]
for n in nodes:
    n.next = nodes
for i in range(3000):
    walk(nodes[i % 60], "text %d" % i, i % 2 == 0)
once(nodes[0])
