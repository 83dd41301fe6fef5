# SPDX-License-Identifier: Apache-2.0
"""A second statement of the kubelet's hint merging (v1.36.3): the definition itself,
every choice of one hint per list folded in turn. The product never walks the choices,
so agreement is no accident; cost here is the product of the lists' lengths.
"""
import functools
import itertools


@functools.lru_cache(maxsize=None)
def count(mask):
    return bin(mask).count("1")


class Machine:
    def __init__(self, case):
        self.nodes = case["numa"]
        self.all = sum(1 << node for node in self.nodes)
        self.column = {node: i for i, node in enumerate(self.nodes)}
        self.rows = case.get("distances")
        closest = case.get("options", {}).get("prefer-closest-numa-nodes", "false")
        self.closest = (closest in ("1", "t", "T", "TRUE", "true", "True")
                        and case["policy"] != "single-numa-node")

    def distance(self, mask):
        """Of one number of nodes the sum orders as the average does."""
        nodes = [node for node in self.nodes if mask >> node & 1]
        return sum(self.rows[self.column[a]][self.column[b]] for a in nodes for b in nodes)

    def fitter(self, current, candidate):
        def rank(mask):
            return (count(mask), self.distance(mask) if self.closest else 0, mask)
        return min(current, candidate, key=lambda hint: rank(hint[0]))


def lists_of(providers):
    """One list per resource; no opinion and "cannot be" are lists too."""
    for provider in providers:
        if not provider:
            yield [(None, True)]
        for hints in (provider or {}).values():
            if hints is None:
                yield [(None, True)]
            else:
                yield [(mask, bool(preferred)) for mask, preferred in hints] or [(None, False)]


def merge_choice(machine, choice):
    masks = [mask for mask, _ in choice if mask is not None]
    merged = machine.all
    for mask in masks:
        merged &= mask
    return merged, all(preferred for _, preferred in choice) and len(set(masks)) < 2


def compare(machine, narrowest, current, candidate):
    if not candidate[0]:
        return current
    if current is None:
        return candidate
    if current[1] != candidate[1]:
        return current if current[1] else candidate
    if current[1]:
        return machine.fitter(current, candidate)
    now, then = count(current[0]), count(candidate[0])
    if now > narrowest:
        return machine.fitter(current, candidate)
    if now == narrowest:
        return machine.fitter(current, candidate) if then == narrowest else current
    if then > narrowest:
        return current
    if then == narrowest or then > now:
        return candidate
    return current if then < now else machine.fitter(current, candidate)


def answer_merge(case):
    policy = case["policy"]
    if policy == "none":
        return {"hint": [None, 0], "admit": True}
    machine = Machine(case)
    lists = list(lists_of(case.get("providers", [])))
    if policy == "single-numa-node":
        lists = [[(mask, preferred) for mask, preferred in hints
                  if preferred and (mask is None or count(mask) == 1)] for hints in lists]
    narrowest = max((min(counts) for counts in
                     ([count(mask) for mask, _ in hints if mask is not None] for hints in lists)
                     if counts), default=0)
    best = None
    for choice in itertools.product(*lists):
        best = compare(machine, narrowest, best, merge_choice(machine, choice))
    mask, preferred = best or (machine.all, False)
    if policy == "single-numa-node" and mask == machine.all:
        mask = None
    return {"hint": [mask, int(preferred)], "admit": policy == "best-effort" or preferred}
