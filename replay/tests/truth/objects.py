#!/usr/bin/env python3
"""Many small objects, made, written as JSON, read again. Design: `.rep.truth.foretold`."""
import json, random
random.seed(1)
class Node:
    def __init__(self, key): self.key, self.kids, self.text = key, [], "text %d" % key
nodes = {}
for i in range(60000):
    node = nodes[i] = Node(i)
    nodes[random.randrange(i + 1)].kids.append(node)
text = json.dumps([{"key": n.key, "kids": [k.key for k in n.kids], "text": n.text} for n in nodes.values()])
back = json.loads(text)
by = {}
for row in back: by.setdefault(len(row["kids"]), []).append(row)
for i in range(0, 60000, 2): del nodes[i]
words = sorted(" ".join(str(random.randrange(1 << 30)) for _ in range(200000)).split())
