#!/usr/bin/env python3
"""Records verdicts on random graphs and profiles, and the costs of the cheapest profiles.

nodes.txt.gz and edges.txt.gz: random graphs, random profiles, and two verdicts on each, by
definition: the condition of first letters, and whether two executions have equal collections.
optimum.txt.gz: random graphs with the weights of 20 random executions, and the cost of the
cheapest blocks that keep the condition, all sets of blocks tried.

A line of the first two: nodes, edges | witnesses of each profile, between semicolons | condition, told apart.
Node 0 is the entry, the last one the exit. This program shares no code with the crate.

    python3 brute.py && gzip -9n nodes.txt edges.txt optimum.txt
"""
import itertools
import random
from collections import defaultdict

END = -1


def reach(start, adjacent):
    seen, open_ = {start}, [start]
    while open_:
        for y in adjacent[open_.pop()]:
            if y not in seen:
                seen.add(y)
                open_.append(y)
    return seen


def graph(rng, n):
    while True:
        edges = set()
        for v in range(0, n - 1):
            k = 1 if v == 0 else rng.choice([1, 1, 2, 2, 2, 3])
            targets = [w for w in range(1, n) if w != v]
            rng.shuffle(targets)
            for w in targets[:k]:
                if v == 0 and w == n - 1:
                    continue
                edges.add((v, w))
        succ, pred = defaultdict(list), defaultdict(list)
        for a, b in sorted(edges):
            succ[a].append(b)
            pred[b].append(a)
        if len(reach(0, succ)) == n and len(reach(n - 1, pred)) == n:
            return sorted(edges), succ


def first(succ, last, witnesses, q):
    out, seen, open_ = set(), set(), [q]
    while open_:
        x = open_.pop()
        if x in seen:
            continue
        seen.add(x)
        if x in witnesses:
            out.add(x)
        elif x == last:
            out.add(END)
        else:
            open_.extend(succ[x])
    return out


def condition(succ, last, profiles):
    for p in list(succ):
        for a, b in itertools.combinations(succ[p], 2):
            if not any(not (first(succ, last, w, a) & first(succ, last, w, b)) for w in profiles):
                return False
    return True


def paths(succ, last, length, limit):
    found, open_ = [], [(0, (0,))]
    while open_ and len(found) <= limit:
        v, path = open_.pop()
        if v == last:
            found.append(path)
        elif len(path) < length:
            open_.extend((w, path + (w,)) for w in succ[v])
    return found


def told_apart(succ, last, profiles, length, limit):
    seen = set()
    for path in paths(succ, last, length, limit):
        key = tuple(tuple(x for x in path if x in w) for w in profiles)
        if key in seen:
            return False
        seen.add(key)
    return True


def line(n, edges, profiles, say, a, b):
    edges = ' '.join('%d%d' % e for e in edges)
    profiles = ' ; '.join(' '.join(say % x for x in sorted(w)) for w in profiles)
    return '%d %s | %s | %d%d\n' % (n, edges, profiles, a, b)


def sets(rng, elements):
    return [set(v for v in elements if rng.random() < rng.choice([.3, .5, .7]))
            for _ in range(rng.choice([1, 2, 3]))]


rng = random.Random(2026)
with open('nodes.txt', 'w') as out:
    for _ in range(4000):
        n = rng.choice([4, 5, 6, 7])
        edges, succ = graph(rng, n)
        d = sets(rng, range(1, n - 1))
        a, b = condition(succ, n - 1, d), told_apart(succ, n - 1, d, 13, 6000)
        out.write(line(n, edges, d, '%d', a, b))
with open('edges.txt', 'w') as out:
    for _ in range(1000):
        n = rng.choice([4, 5, 6])
        edges, succ = graph(rng, n)
        d = sets(rng, edges)
        # Each edge becomes a node of its own.
        split = defaultdict(list)
        for e in edges:
            split[e[0]].append(e)
            split[e] = [e[1]]
        # Both ends of an edge and the edge: twice the length.
        a, b = condition(split, n - 1, d), told_apart(split, n - 1, d, 23, 3000)
        out.write(line(n, edges, d, '%d%d', a, b))


def executed(rng, succ, last):
    weights = defaultdict(int)
    for _ in range(20):
        path = [0]
        while path[-1] != last and len(path) < 500:
            path.append(rng.choice(succ[path[-1]]))
        # Whole executions alone: what flows in flows out.
        if path[-1] == last:
            for e in zip(path, path[1:]):
                weights[e] += 1
    return weights


with open('optimum.txt', 'w') as out:
    for _ in range(500):
        n = rng.choice([6, 7, 8, 9])
        edges, succ = graph(rng, n)
        weights = executed(rng, succ, n - 1)
        cost = [0] * n
        for e in edges:
            cost[e[1]] += weights[e]
        best = None
        for size in range(n):
            for chosen in itertools.combinations(range(1, n), size):
                own = sum(cost[v] for v in chosen)
                if (best is None or own < best) and condition(succ, n - 1, [set(chosen)]):
                    best = own
        written = ' '.join('%d%d*%d' % (e + (weights[e],)) for e in edges)
        out.write('%d %s | %d\n' % (n, written, best))
