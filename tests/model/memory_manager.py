# SPDX-License-Identifier: Apache-2.0
"""A second statement of the kubelet's memory manager (v1.36.3, static policy) and of the
admission around it, defects included. Masks are ints, bit i = NUMA node id i.
"""
import functools
import itertools


from topology_manager import answer_merge, count

WHAT = "[memorymanager] "
NO_DEFAULT = WHAT + ("failed to get the default NUMA affinity, no NUMA nodes with enough "
                     "memory is available")
NO_PREFERRED = WHAT + "failed to find the default preferred hint"
NO_EXTENSION = WHAT + "failed to find NUMA nodes to extend the current topology hint"
NO_PREFERRED_EXTENSION = WHAT + "failed to find the extended preferred hint"
DIFFERENT = WHAT + "the expected machine state is different from the real one"
VIOLATES = WHAT + "preferred hint violates NUMA node allocation"
NOT_ALIGNED = "Resources cannot be allocated with Topology locality"
POD_NOT_ALIGNED = {
    "container": ("Pod Scope pod with pod-level resources failed admission with a "
                  "container-level topology manager"),
    "pod": ("Pod Scope pod with pod-level resources failed admission under pod-scope "
            "topology manager"),
}


class Refused(Exception):
    def __init__(self, message, reason=None):
        super().__init__(message)
        self.message, self.reason = message, reason


class Chance(Exception):
    """Here the kubelet's own answer differs from run to run: it walks a map."""


@functools.lru_cache(maxsize=None)
def nodes_of(mask):
    return [node for node in range(64) if mask >> node & 1]


def memory_of(resources):
    return {kind: amount for kind, amount in resources.items() if kind != "cpu"}


def hugepages_name(kib):
    for unit, size in (("Gi", 1 << 20), ("Mi", 1 << 10), ("Ki", 1)):
        if kib % size == 0:
            return f"hugepages-{kib // size}{unit}"
    raise ValueError(kib)


class Node:
    def __init__(self, facts, reserved):
        self.id = facts["id"]
        totals = {hugepages_name(kib): pages * kib << 10
                  for kib, pages in facts.get("hugepages", [])}
        self.allocatable = {kind: total - reserved.get(kind, 0) for kind, total in totals.items()}
        self.allocatable["memory"] = (facts["memory"] - reserved.get("memory", 0)
                                      - sum(totals.values()))
        self.free = dict(self.allocatable)
        self.assignments, self.cells = 0, 1 << self.id


def containers_of(pod):
    """Init containers first, each marked with what it is."""
    return ([(c, "sidecar" if c.get("sidecar") else "init") for c in pod.get("init", [])]
            + [(c, "app") for c in pod["containers"]])


def is_exclusive(container):
    requests = container.get("req", {})
    limits = container.get("lim", requests)
    return all(requests.get(kind, 0) > 0 and requests.get(kind) == limits.get(kind)
               for kind in ("cpu", "memory"))


class Manager:
    def __init__(self, case):
        self.pods, self.pod_level = case["pods"], case.get("pod_level", False)
        self.topology, self.facts, self.reserved = (case.get("topology"), case["nodes"],
                                                    case["reserved"])
        self.nodes = self.fresh_nodes()
        self.blocks, self.pod_blocks, self.reusable = {}, {}, {}
        self.counters = {}
        self.overwrote_group = False
        if self.topology and self.topology["policy"] != "none":
            for name in ("", "_failure"):
                for scope in ("container", "pod"):
                    self.count_up(f"container_aligned_compute_resources{name}_count"
                                  f"{{{scope},numa_node}}", 0)

    def fresh_nodes(self):
        return {facts["id"]: Node(facts, self.reserved.get(str(facts["id"]), {}))
                for facts in self.facts}

    def count_up(self, name, by=1):
        if self.pod_level or not name.startswith("resource_manager_"):
            self.counters[name] = self.counters.get(name, 0) + by

    # --- what a pod asks for

    def is_guaranteed(self, pod):
        if "level" in pod:
            return all(pod["level"].get(kind, 0) > 0 for kind in ("cpu", "memory"))
        sums = {}
        for container, _ in containers_of(pod):
            requests = container.get("req", {})
            limits = container.get("lim", requests)
            if not all(limits.get(kind, 0) > 0 for kind in ("cpu", "memory")):
                return False
            for kind in ("cpu", "memory"):
                sums[kind] = (sums.get(kind, 0) + requests.get(kind, limits[kind])
                              - limits[kind])
        return not any(sums.values())

    def takes_part(self, pod):
        return self.is_guaranteed(pod) and ("level" not in pod or self.pod_level)

    def by_pod_level(self, pod):
        return "level" in pod and self.pod_level

    def requests(self, pod, container):
        if self.by_pod_level(pod) and not is_exclusive(container):
            return {}
        return memory_of(container.get("req", {}))

    def pod_requests(self, pod):
        if self.by_pod_level(pod):
            return {kind: n for kind, n in memory_of(pod["level"]).items() if n > 0}
        sidecars, most, apps = {}, {}, {}
        for container, role in containers_of(pod):
            for kind, amount in self.requests(pod, container).items():
                if role == "app":
                    apps[kind] = apps.get(kind, 0) + amount
                elif role == "sidecar":
                    sidecars[kind] = sidecars.get(kind, 0) + amount
                else:
                    most[kind] = max(most.get(kind, 0), sidecars.get(kind, 0) + amount)
        return {kind: max(amount + sidecars.get(kind, 0), most.get(kind, 0))
                for kind, amount in apps.items()}

    def check_shared_pool(self, pod):
        total, exclusive, shared = self.pod_requests(pod), {}, False

        def check(message):
            spent = [kind for kind in total if exclusive.get(kind, 0) >= total[kind]]
            if len(spent) > 1:
                raise Chance
            if spent:
                raise Refused(message.format(spent[0]), "EmptyPodSharedPoolError")

        for container, role in containers_of(pod):
            own = self.requests(pod, container)
            if role == "init":
                if not own:
                    check("pod rejected, pod has shared init containers but no {} available "
                          "for them")
                continue
            shared = shared or not own
            for kind, amount in own.items():
                exclusive[kind] = exclusive.get(kind, 0) + amount
        if shared:
            check("pod rejected, sum of exclusive container {} requests equals pod budget, "
                  "leaving no memory for shared containers")

    # --- hints: None = no opinion; {type: [(mask, preferred)]}

    def sum_over(self, mask, kind, which):
        return sum(getattr(self.nodes[node], which).get(kind, 0) for node in nodes_of(mask))

    def is_blocked(self, mask):
        """The single or group rule."""
        if count(mask) == 1:
            return count(self.nodes[nodes_of(mask)[0]].cells) > 1
        return self.breaks_group(mask)

    def breaks_group(self, mask):
        return any(node.assignments > 0 and (count(node.cells) == 1 or node.cells != mask)
                   for node in map(self.nodes.get, nodes_of(mask)))

    def reuse(self, uid, mask, kind):
        return self.reusable.get(uid, {}).get((mask, kind), 0)

    def calculate(self, uid, requests):
        fewest, fitting = len(self.nodes), []
        for size in range(1, len(self.nodes) + 1):
            for nodes in itertools.combinations(sorted(self.nodes), size):
                mask = sum(1 << node for node in nodes)
                if any(self.sum_over(mask, kind, "allocatable") < amount
                       for kind, amount in requests.items()):
                    continue
                fewest = min(fewest, size)
                if self.is_blocked(mask) or any(
                        self.sum_over(mask, kind, "free") + self.reuse(uid, mask, kind) < amount
                        for kind, amount in requests.items()):
                    continue
                fitting.append(mask)
        hints = [(mask, count(mask) == fewest) for mask in fitting]
        return {kind: hints for kind in requests} if hints else {}

    @staticmethod
    def regenerate(blocks, requests):
        if (len(blocks) != len(requests)
                or any(requests.get(kind) != size for kind, _, size in blocks)):
            return None
        return {kind: [(mask, True)] for kind, mask, _ in blocks}

    def hints(self, uid, container):
        pod = self.pods[uid]
        if not self.takes_part(pod):
            return None
        requests = self.requests(pod, container)
        held = self.blocks.get(uid, {}).get(container["name"])
        if held is not None:
            return self.regenerate(held, requests)
        return self.calculate(uid, requests)

    def pod_hints(self, uid):
        pod = self.pods[uid]
        if not self.takes_part(pod):
            return None
        requests = self.pod_requests(pod)
        if self.by_pod_level(pod):
            try:
                self.check_shared_pool(pod)
            except Refused:
                return {kind: [] for kind in requests}
        if not requests:
            return None
        for container, _ in containers_of(pod):
            held = self.blocks.get(uid, {}).get(container["name"])
            if held is not None:
                return self.regenerate(held, requests)
        return self.calculate(uid, requests)

    # --- allocation

    def settle(self, uid, requests, hint):
        """The nodes for `requests`, from the hint that alignment settled on."""
        best = hint
        if hint[0] is None:
            hints = self.calculate(uid, requests)
            if not hints:
                raise Refused(NO_DEFAULT)
            best = self.find_best(hints["memory"])
            if hint[1] and not best[1]:
                raise Refused(NO_PREFERRED)
        if any(self.sum_over(best[0], kind, "free") < amount for kind, amount in requests.items()):
            wider = [h for h in self.calculate(uid, requests).get("memory", [])
                     if h[0] & best[0] == best[0]]
            if not wider:
                raise Refused(NO_EXTENSION)
            extended = self.find_best(wider)
            if best[1] and not extended[1]:
                raise Refused(NO_PREFERRED_EXTENSION)
            best = extended
        if count(best[0]) > 1 and self.breaks_group(best[0]):
            raise Refused(VIOLATES)
        return best[0]

    @staticmethod
    def find_best(hints):
        return min(hints, key=lambda hint: (not hint[1], count(hint[0]), hint[0]))

    def charge(self, mask, kind, amount):
        for node in map(self.nodes.get, nodes_of(mask)):
            taken = min(node.free.get(kind, 0), amount)
            self.overwrote_group |= node.assignments > 0 and node.cells != mask
            node.assignments += 1
            node.cells = mask
            node.free[kind] = node.free.get(kind, 0) - taken
            amount -= taken

    def give_back(self, mask, kind, amount):
        for node in map(self.nodes.get, nodes_of(mask)):
            node.assignments -= 1
            if node.assignments == 0:
                node.cells = 1 << node.id
            given = min(node.allocatable.get(kind, 0) - node.free.get(kind, 0), amount)
            node.free[kind] = node.free.get(kind, 0) + given
            amount -= given

    def remember_reusable(self, uid, role, blocks):
        self.reusable = {uid: self.reusable.get(uid, {})}
        reusable = self.reusable[uid]
        for kind, mask, size in blocks:
            if role == "init":
                reusable[mask, kind] = max(reusable.get((mask, kind), 0), size)
            elif (mask, kind) in reusable:
                reusable[mask, kind] = max(0, reusable[mask, kind] - size)

    def shrink_init_blocks(self, uid, name, blocks):
        """So that the pod's blocks add up to what is charged."""
        for kind, mask, rest in blocks:
            for container, role in containers_of(self.pods[uid]):
                if container["name"] == name:
                    break
                if role != "init":
                    continue
                for block in self.blocks[uid].get(container["name"], []):
                    if block[:2] == [kind, mask]:
                        used = min(block[2], rest)
                        block[2] -= used
                        rest -= used

    def allocate(self, uid, container, role, hint):
        pod, name = self.pods[uid], container["name"]
        if not self.takes_part(pod):
            return
        self.count_up("memory_manager_pinning_requests_total")
        held = self.blocks.get(uid, {}).get(name)
        if held is not None:
            self.remember_reusable(uid, role, held)
            return
        requests = self.requests(pod, container)
        try:
            mask = self.settle(uid, requests, hint)
        except Refused:
            self.count_up("memory_manager_pinning_errors_total")
            self.count_up("resource_manager_allocation_errors_total{memory,node}")
            raise
        blocks = [[kind, mask, size] for kind, size in requests.items()]
        for kind, _, size in blocks:
            self.charge(mask, kind, max(0, size - self.reuse(uid, mask, kind)))
            self.count_up("resource_manager_allocations_total{memory,node}")
        self.count_up("resource_manager_container_assignments{memory,node_exclusive}")
        self.blocks.setdefault(uid, {})[name] = blocks
        self.remember_reusable(uid, role, [list(block) for block in blocks])
        self.shrink_init_blocks(uid, name, blocks)

    def allocate_pod(self, uid, hint):
        pod = self.pods[uid]
        if not self.is_guaranteed(pod):
            return
        total = self.pod_requests(pod)
        self.count_up("memory_manager_pinning_requests_total")
        try:
            self.check_shared_pool(pod)
            mask = self.settle(uid, total, hint)
        except Refused:
            self.count_up("memory_manager_pinning_errors_total")
            self.count_up("resource_manager_allocation_errors_total{memory,pod}")
            raise
        left, cut = dict(total), {}
        for container, role in containers_of(pod):
            own = self.requests(pod, container)
            if own or role != "app":
                self.count_up("memory_manager_pinning_requests_total")
            if own:
                cut[container["name"]] = own
                for kind, size in own.items() if role != "init" else []:
                    left[kind] = left.get(kind, 0) - size
            elif role == "init":
                cut[container["name"]] = dict(left)
        for container, _ in containers_of(pod):
            own = self.requests(pod, container)
            kind = "pod_exclusive" if own else "pod_shared"
            self.count_up(f"resource_manager_container_assignments{{memory,{kind}}}")
            self.count_up("resource_manager_allocations_total{memory,pod}")
            cut.setdefault(container["name"], left)
        self.blocks[uid] = {name: [[kind, mask, size] for kind, size in sizes.items() if size > 0]
                            for name, sizes in cut.items()}
        self.pod_blocks[uid] = [[kind, mask, size] for kind, size in total.items()]
        for kind, size in total.items():
            self.charge(mask, kind, size)

    def release(self, blocks):
        for kind, mask, size in blocks:
            self.give_back(mask, kind, size)

    def remove(self, uid, name):
        blocks = self.blocks.get(uid, {}).pop(name, None)
        if blocks is None:
            return
        if uid not in self.pod_blocks:
            self.release(blocks)
        if not self.blocks[uid]:
            del self.blocks[uid]
            self.release(self.pod_blocks.pop(uid, []))

    def started(self, uid, name):
        for container, role in containers_of(self.pods[uid]):
            if container["name"] == name:
                return
            if role == "init":
                self.remove(uid, container["name"])

    def restart(self):
        """Forgets what can be reused; the nodes must be as the stored blocks make them."""
        if self.overwrote_group:
            raise Chance
        self.reusable = {}
        real, self.nodes = self.nodes, self.fresh_nodes()
        for uid, held in self.blocks.items():
            for blocks in [self.pod_blocks[uid]] if uid in self.pod_blocks else held.values():
                for kind, mask, size in blocks:
                    self.charge(mask, kind, size)
        expected, self.nodes = self.nodes, real
        for node in expected.values():
            now = real[node.id]
            if (node.assignments, node.cells) != (now.assignments, now.cells) or any(
                    sum(expected[n].free.get(kind, 0) - real[n].free.get(kind, 0)
                        for n in nodes_of(node.cells)) for kind in node.free):
                raise Refused(DIFFERENT)

    # --- admission

    def merge(self, key, extra, hints):
        plain = hints and {kind: [list(hint) for hint in some] for kind, some in hints.items()}
        providers = ([extra[key]] if key in extra else []) + [plain]
        answer = answer_merge({**self.topology, "numa": sorted(self.nodes),
                               "providers": providers})
        return tuple(answer["hint"]), answer["admit"]

    def refuse_alignment(self, pod, scope):
        if self.topology["policy"] == "single-numa-node":
            self.count_up(f"container_aligned_compute_resources_failure_count{{{scope},numa_node}}")
        raise Refused(POD_NOT_ALIGNED[scope] if self.by_pod_level(pod) else NOT_ALIGNED,
                      "TopologyAffinityError")

    def settle_scope(self, uid, key, extra, hints, merged, scope):
        hint, admit = self.merge(key, extra, hints)
        merged.append([key, [hint[0], int(hint[1])], admit])
        if not admit:
            self.refuse_alignment(self.pods[uid], scope)
        return hint

    def aligned(self, scope):
        if self.topology["policy"] == "single-numa-node":
            self.count_up(f"container_aligned_compute_resources_count{{{scope},numa_node}}")

    def admit(self, uid, extra, merged):
        pod, scope = self.pods[uid], self.topology.get("scope") or "container"
        if self.topology["policy"] == "none":
            for container, role in containers_of(pod):
                self.allocate(uid, container, role, (None, False))
        elif scope == "container":
            for container, role in containers_of(pod):
                hint = self.settle_scope(uid, container["name"], extra,
                                         self.hints(uid, container), merged, scope)
                self.allocate(uid, container, role, hint)
                self.aligned(scope)
        else:
            hint = self.settle_scope(uid, "", extra, self.pod_hints(uid), merged, scope)
            if self.by_pod_level(pod):
                self.allocate_pod(uid, hint)
            else:
                for container, role in containers_of(pod):
                    self.allocate(uid, container, role, hint)
            self.aligned(scope)

    def answer_admit(self, uid, extra):
        merged, answer = [], {"admit": True}
        self.count_up("topology_manager_admission_requests_total")
        try:
            self.admit(uid, extra, merged)
        except Refused as refused:
            if self.topology["policy"] != "none":
                self.count_up("topology_manager_admission_errors_total")
            answer = {"admit": False, "reason": refused.reason or "UnexpectedAdmissionError",
                      "message": refused.message if refused.reason else
                      f"Allocate failed due to {refused.message}, which is unexpected"}
        return {**answer, "merged": None if self.topology["policy"] == "none" else merged}


# --- cases as the vectors have them ---------------------------------------------------------------


def shown(hints):
    return hints and {kind: [[mask, int(preferred)] for mask, preferred in some]
                      for kind, some in hints.items()}


def held_by(manager, uid):
    blocks = dict(manager.blocks.get(uid, {}))
    if uid in manager.pod_blocks:
        blocks["(pod)"] = manager.pod_blocks[uid]
    return {name: sorted(map(list, some)) for name, some in blocks.items()}


def state_of(manager):
    return [{"n": node.id, "a": node.assignments, "cells": node.cells, "free": dict(node.free)}
            for _, node in sorted(manager.nodes.items())]


def play(manager, step):
    """What the step says beside the state, or None for a step that says only that."""
    uid, op = step.get("pod"), step["op"]
    hint = step.get("hint", [None, 0])
    hint = (hint[0], bool(hint[1]))
    container, role = next(((c, r) for c, r in containers_of(manager.pods[uid])
                            if c["name"] == step["c"]), (None, None)) if "c" in step else (None,) * 2
    if op == "hints":
        return {"hints": shown(manager.hints(uid, container))}
    if op == "pod_hints":
        return {"hints": shown(manager.pod_hints(uid))}
    if op == "admit":
        return manager.answer_admit(uid, step.get("extra", {}))
    if op in ("alloc", "alloc_pod", "restart"):
        try:
            if op == "alloc":
                manager.allocate(uid, container, role, hint)
            elif op == "alloc_pod":
                manager.allocate_pod(uid, hint)
            else:
                manager.restart()
        except Refused as refused:
            return {"err": refused.message,
                    **({"reason": refused.reason or "UnexpectedAdmissionError"}
                       if op == "alloc_pod" else {})}
        return {"err": ""}
    if op == "start":
        manager.started(uid, step["c"])
    elif op == "remove":
        manager.remove(uid, step["c"])
    else:
        for gone, _ in containers_of(manager.pods[uid]):
            manager.remove(uid, gone["name"])
    return {}


def answer_memory(case):
    manager, steps = Manager(case), []
    for step in case["ops"]:
        answer = play(manager, step)
        if step["op"] not in ("hints", "pod_hints", "restart"):
            answer["state"] = state_of(manager)
            answer["blocks"] = held_by(manager, step["pod"])
        steps.append(answer)
    return {"ops": steps, "metrics": {name: n for name, n in manager.counters.items()
                                      if n or "{" in name}}
