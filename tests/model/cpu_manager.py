# SPDX-License-Identifier: Apache-2.0
"""A second statement of the kubelet's CPU manager (v1.36.3, static policy), as plain
as can be: sets of ints, every list sorted anew, every combination tried. It shares
nothing with the product, so that the two can be compared on machines and pods that
nobody recorded; tests/check/model first compares it with the recorded answers.

`repaired` leaves out four defects of the kubelet: remembered combinations that share
memory, "whole" judged by the machine's average, remainders counted in CPUs but handed
out in groups, and things listed twice that are taken twice.
"""
import itertools
import math


class Refused(Exception):
    """The error of a step, by its name in the vectors."""


def parse_cpus(text):
    cpus = set()
    for part in text.split(",") if text else []:
        first, _, last = part.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def format_cpus(cpus):
    parts = []
    for _, run in itertools.groupby(enumerate(sorted(cpus)), lambda pair: pair[1] - pair[0]):
        run = [cpu for _, cpu in run]
        parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ",".join(parts)


def union(sets):
    return set().union(*sets)


class Topology:
    """cores, sockets, nodes, uncores: id -> set of CPUs; counts may be given, even wrong."""

    def __init__(self, line):
        self.cores, self.sockets, self.nodes, self.uncores = {}, {}, {}, {}
        self.core_of = {}
        for cpu, core, socket, node, uncore in line["cpus"]:
            self.core_of[cpu] = core
            for level, number in ((self.cores, core), (self.sockets, socket),
                                  (self.nodes, node), (self.uncores, uncore)):
                level.setdefault(number, set()).add(cpu)
        self.all = set(self.core_of)
        self.nr_cpus = line.get("num_cpus", len(self.all))
        self.nr_sockets = line.get("num_sockets", len(self.sockets))
        self.nr_nodes = line.get("num_numa", len(self.nodes))
        self.per_core = self.average(line.get("num_cores", len(self.cores)))
        self.per_socket = self.average(self.nr_sockets)
        self.per_uncore = self.average(line.get("num_uncore", len(self.uncores)))
        self.nodes_first = self.nr_sockets >= self.nr_nodes

    def average(self, nr_groups):
        return self.nr_cpus // nr_groups if nr_groups else 0


class Take:
    """One take in progress: what is still free, what was taken, how much is needed."""

    def __init__(self, topology, free, need, repaired):
        self.topology, self.repaired = topology, repaired
        self.free, self.need, self.taken = set(free), need, set()

    def take(self, cpus):
        self.need -= len(cpus - self.taken) if self.repaired else len(cpus)
        self.taken |= cpus
        self.free -= cpus

    # --- orders: fewest free CPUs first, then by id; the outer level's order goes before

    def order(self, level, within=None):
        ids = [i for i, cpus in level.items()
               if cpus & self.free and (within is None or cpus & within & self.free)]
        return sorted(ids, key=lambda i: (len(level[i] & self.free), i))

    def inside(self, outer_ids, outer, level):
        return [i for o in outer_ids for i in self.order(level, outer[o])]

    def nodes(self):
        t = self.topology
        if t.nodes_first:
            return self.order(t.nodes)
        return self.inside(self.sockets(), t.sockets, t.nodes)

    def sockets(self):
        t = self.topology
        if t.nodes_first:
            return self.inside(self.nodes(), t.nodes, t.sockets)
        return self.order(t.sockets)

    def cores(self):
        t = self.topology
        if t.nodes_first:
            return self.inside(self.sockets(), t.sockets, t.cores)
        return self.inside(self.nodes(), t.nodes, t.cores)

    def uncores(self):
        return self.inside(self.nodes(), self.topology.nodes, self.topology.uncores)

    def single_cpus(self, spread):
        t = self.topology
        if spread:
            return [cpu for s in self.sockets() for cpu in sorted(t.sockets[s] & self.free)]
        return [cpu for c in self.cores() for cpu in sorted(t.cores[c] & self.free)]

    # --- steps

    def take_whole(self, ids, level, average=None):
        """Each thing that is whole now and not larger than what is needed then."""
        def is_whole(i):
            size = len(level[i]) if average is None or self.repaired else average
            return len(level[i] & self.free) == size

        for i in [i for i in ids if is_whole(i)]:
            if self.repaired and level[i] <= self.taken:
                continue
            if self.need >= len(level[i]):
                self.take(level[i])

    def take_from_uncores(self):
        t = self.topology
        for uncore in self.uncores():
            if self.need >= t.per_uncore:
                self.take_whole(self.uncores(), t.uncores)
            if self.need < 1:
                return
            nr_cores = math.ceil(self.need / t.per_core) if t.per_core else 0
            cores = sorted(c for c in t.cores if t.cores[c] & t.uncores[uncore] & self.free)
            some = union(t.cores[c] & self.free for c in cores[:nr_cores])
            if self.need % 2 and t.per_core > 1 and len(some) > self.need:
                some.remove(max(some))
            if len(some) == self.need:
                self.take(some)
                return


def take_packed(topology, free, count, spread, uncore, repaired):
    if count < 1:
        return set()
    if count > len(free):
        raise Refused("not-enough-cpus")
    take = Take(topology, free, count, repaired)
    levels = [lambda: take.take_whole(take.nodes(), topology.nodes),
              lambda: take.take_whole(take.sockets(), topology.sockets, topology.per_socket)]
    steps = levels if topology.nodes_first else levels[::-1]
    if uncore:
        steps = steps + [take.take_from_uncores]
    if not spread:
        steps = steps + [lambda: take.take_whole(take.cores(), topology.cores, topology.per_core)]
    for step in steps:
        step()
        if take.need < 1:
            return take.taken
    for cpu in take.single_cpus(spread):
        if not (repaired and cpu in take.taken):
            take.take({cpu})
        if take.need < 1:
            return take.taken
    raise Refused("failed")


def deviation(values):
    """Population standard deviation, mean and result rounded to three decimals."""
    def rounded(value):
        return math.copysign(math.floor(abs(value) * 1000 + 0.5) / 1000, value)

    mean = rounded(sum(values) / len(values))
    squares = 0.0
    for value in values:
        squares += (value - mean) * (value - mean)
    return rounded(math.sqrt(squares / len(values)))


class Slice:
    """A growing list whose copies share memory until it must grow: 1, 2, 4, 8, 16 places."""

    def __init__(self, memory=None, length=0):
        self.memory, self.length = [] if memory is None else memory, length

    def append(self, item):
        memory = self.memory
        if self.length == len(memory):
            memory = memory + [None] * max(1, len(memory))
        memory[self.length] = item
        return Slice(memory, self.length + 1)

    def items(self):
        return self.memory[:self.length]


class Copied(Slice):
    def append(self, item):
        return Copied(self.items() + [item], self.length + 1)


def combinations(items, size, start):
    """In lexicographic order. What is given may change later when `start` is a Slice."""
    def grow(begin, chosen):
        if chosen.length == size:
            yield chosen
            return
        for i in range(begin, len(items) - (size - chosen.length) + 1):
            yield from grow(i + 1, chosen.append(items[i]))

    return grow(0, start)


def hand_out(nodes, count, group, may_give):
    """Groups of CPUs to the nodes in turn, for those that still have one; endless is refused."""
    while count > 0:
        before = count
        for node in nodes:
            if count > 0 and may_give(node):
                yield node
                count -= group
        if count == before:
            raise Refused("hang")


class Distribution:
    def __init__(self, topology, free, count, group, spread, repaired):
        self.topology, self.count, self.group = topology, count, group
        self.spread, self.repaired = spread, repaired
        self.take = Take(topology, free, count, repaired)
        nodes = self.take.nodes()
        self.nodes = list(dict.fromkeys(nodes)) if repaired else nodes
        self.free = {node: len(topology.nodes[node] & self.take.free) for node in self.nodes}
        self.start = Copied() if repaired else Slice()

    def whole_groups(self, cpus):
        return cpus // self.group * self.group

    def best_remainder(self, chosen, after, rest):
        """The subset of the chosen nodes that takes the rest and leaves the most even machine."""
        if rest == 0:
            return deviation([after[node] for node in sorted(after)]), None
        best = (math.inf, None)
        able = [node for node in chosen if after[node] >= self.group]
        for size in range(len(able), 0, -1):
            for subset in combinations(able, size, self.start):
                room = sum(self.whole_groups(after[n]) if self.repaired else after[n]
                           for n in subset.items())
                if room < rest:
                    continue
                left = dict(after)
                for node in hand_out(subset.items(), rest, self.group,
                                     lambda n: left[n] >= self.group):
                    left[node] -= self.group
                balance = deviation([left[node] for node in sorted(left)])
                if balance < best[0]:
                    best = (balance, subset)
        return best

    def best_combination(self, size):
        share = self.whole_groups(self.count // size)
        best = (math.inf, None, None)
        for combination in combinations(self.nodes, size, self.start):
            if best[0] == 0:
                break
            chosen = combination.items()
            if (sum(self.free[n] for n in chosen) < self.count
                    or sum(self.whole_groups(self.free[n]) for n in chosen) < self.count
                    or any(self.free[n] < share for n in chosen)):
                continue
            after = {n: self.free[n] - (share if n in chosen else 0) for n in self.nodes}
            balance, remainder = self.best_remainder(chosen, after, self.count - share * size)
            if balance < best[0]:
                best = (balance, remainder, combination)
        return best[1:]

    def take_from_node(self, node, count):
        try:
            self.take.take(take_packed(self.topology, self.topology.nodes[node] & self.take.free,
                                       count, self.spread, False, self.repaired))
        except Refused:
            pass  # as the kubelet: the sum is checked at the end

    def allocate(self, size, remainder, combination):
        share = self.whole_groups(self.count // size)
        for node in combination.items():
            self.take_from_node(node, share)
        for node in hand_out(remainder.items() if remainder else [], self.count - share * size,
                             self.group, lambda n: len(self.topology.nodes[n] & self.take.free)
                             >= self.group):
            self.take_from_node(node, self.group)
        if self.take.need > 0:
            raise Refused("accounting-too-few")
        if self.take.need < 0:
            raise Refused("accounting-too-many")
        return self.take.taken


def ceil_div(a, b):
    return (a - 1) // b + 1


def take_distributed(topology, free, count, group, spread, repaired):
    if count % group:
        return take_packed(topology, free, count, spread, False, repaired)
    if count < 1:
        return set()
    if count > len(free):
        raise Refused("not-enough-cpus")
    work = Distribution(topology, free, count, group, spread, repaired)
    groups_per_node = ceil_div(ceil_div(topology.nr_cpus, group), topology.nr_nodes)
    wanted = ceil_div(count, group)
    for size in range(ceil_div(wanted, groups_per_node), min(wanted, len(set(work.nodes))) + 1):
        remainder, combination = work.best_combination(size)
        if combination:
            return work.allocate(size, remainder, combination)
    return take_packed(topology, free, count, spread, False, repaired)


# --- the static policy --------------------------------------------------------------------------


def is_guaranteed_alone(resources):
    return all(resources.get(request, 0) > 0 and resources.get(request) == resources.get(limit)
               for request, limit in (("cpu_req", "cpu_lim"), ("mem_req", "mem_lim")))


def containers_of(pod):
    """(container, is an init container) in the order in which they start."""
    return ([(c, True) for c in pod.get("init", [])] + [(c, False) for c in pod.get("main", [])])


class StaticPolicy:
    def __init__(self, case, topology, repaired):
        self.topology, self.repaired, self.pods = topology, repaired, case.get("pods", {})
        options = {name for name, value in case.get("options", {}).items()
                   if value in ("1", "t", "T", "TRUE", "true", "True")}
        self.full_cores = "full-pcpus-only" in options
        self.distribute = "distribute-cpus-across-numa" in options
        self.by_socket = "align-by-socket" in options
        self.spread = "distribute-cpus-across-cores" in options
        self.uncore = "prefer-align-cpus-by-uncorecache" in options
        self.pod_level = case.get("pod_level_managers", False)
        if "reserved_cpus" in case:
            self.reserved = parse_cpus(case["reserved_cpus"])
        else:
            self.reserved = self.take(topology.all, case["reserved_count"])
        self.reserved_cores = union(topology.cores[topology.core_of[c]] for c in self.reserved)
        strict = "strict-cpu-reservation" in options
        self.default = topology.all - self.reserved if strict else set(topology.all)
        self.assigned, self.bubbles, self.reusable = {}, {}, {}

    def take(self, free, count):
        if self.distribute:
            group = self.topology.per_core if self.full_cores else 1
            return take_distributed(self.topology, free, count, group, self.spread, self.repaired)
        return take_packed(self.topology, free, count, self.spread, self.uncore, self.repaired)

    def allocate_cpus(self, count, affinity, reusable):
        topology = self.topology
        available = (self.default - self.reserved) | reusable
        aligned = set()
        if affinity is not None:
            near = union(topology.nodes.get(node, set()) for node in affinity)
            if self.by_socket:
                near = union(cpus for cpus in topology.sockets.values() if cpus & near)
            near &= available
            aligned = self.take(near, min(count, len(near)))
        cpus = aligned | self.take(available - aligned, count - len(aligned))
        self.default -= cpus
        return cpus

    # --- what a pod asks for

    def is_guaranteed(self, pod):
        if "pod" in pod:
            return is_guaranteed_alone(pod["pod"])
        return all(is_guaranteed_alone(c) for c, _ in containers_of(pod))

    def exclusive_count(self, pod, container):
        if not self.is_guaranteed(pod):
            return 0
        if self.pod_level and "pod" in pod and not is_guaranteed_alone(container):
            return 0
        cpus, rest = divmod(container.get("cpu_req", 0), 1000)
        return 0 if rest else cpus

    def pod_count(self, pod):
        if "pod" in pod:
            cpus, rest = divmod(pod["pod"].get("cpu_req", 0), 1000)
            return cpus if self.is_guaranteed(pod) and not rest else 0
        sidecars = most = 0
        for container in pod.get("init", []):
            count = self.exclusive_count(pod, container)
            if container.get("sidecar"):
                sidecars += count
            else:
                most = max(most, sidecars + count)
        return max(most, sidecars + sum(self.exclusive_count(pod, c) for c in pod["main"]))

    def leaves_a_shared_pool(self, pod, count):
        exclusive, any_shared = 0, False
        for container, is_init in containers_of(pod):
            own = self.exclusive_count(pod, container)
            if is_init and not container.get("sidecar"):
                if not own and exclusive >= count:
                    return False
            elif own:
                exclusive += own
            else:
                any_shared = True
        return not (any_shared and exclusive >= count)

    def ignores(self, pod):
        return "pod" in pod and not self.pod_level

    # --- steps

    def check_full_cores(self, count):
        if not self.full_cores:
            return
        if count % self.topology.per_core:
            raise Refused("smt-not-multiple")
        if count > len(self.default - self.reserved_cores):
            raise Refused("smt-no-free-cores")

    def remember_reusable(self, uid, container, is_init, cpus):
        self.reusable = {uid: self.reusable.get(uid, set())}
        if is_init and not container.get("sidecar"):
            self.reusable[uid] |= cpus
        else:
            self.reusable[uid] -= cpus

    def allocate(self, uid, container, is_init, affinity):
        pod = self.pods[uid]
        count = self.exclusive_count(pod, container)
        if not count or self.ignores(pod):
            return
        self.check_full_cores(count)
        cpus = self.assigned.get(uid, {}).get(container["name"])
        if cpus is None:
            cpus = self.allocate_cpus(count, affinity, self.reusable.get(uid, set()))
            self.assigned.setdefault(uid, {})[container["name"]] = cpus
        self.remember_reusable(uid, container, is_init, cpus)

    def allocate_pod(self, uid, affinity):
        pod = self.pods[uid]
        count = self.pod_count(pod)
        if not count:
            return
        if not self.leaves_a_shared_pool(pod, count):
            raise Refused("empty-pod-shared-pool")
        self.check_full_cores(count)
        self.bubbles[uid] = left = self.allocate_cpus(count, affinity, set())
        cpus = {}
        for container in pod.get("init", []):
            own = self.exclusive_count(pod, container)
            if own:
                cpus[container["name"]] = self.take(left, own)
                if container.get("sidecar"):
                    left = left - cpus[container["name"]]
            elif not container.get("sidecar"):
                cpus[container["name"]] = left
        for container in pod.get("main", []):
            own = self.exclusive_count(pod, container)
            if own:
                cpus[container["name"]] = self.take(left, own)
                left = left - cpus[container["name"]]
        for container, _ in containers_of(pod):
            cpus.setdefault(container["name"], left)
        self.assigned[uid] = cpus

    def remove(self, uid, name):
        cpus = self.assigned.get(uid, {}).pop(name, None)
        if cpus is None:
            return
        held = union(self.assigned[uid].values())
        if not self.assigned[uid]:
            del self.assigned[uid]
        if uid not in self.bubbles:
            self.default |= cpus - held
        elif uid not in self.assigned:
            self.default |= self.bubbles.pop(uid)

    # --- hints: (nodes, preferred), None = no opinion, [] = cannot be

    def hints_from(self, available, reusable, count):
        topology = self.topology
        nodes = sorted(topology.nodes)
        fewest, fitting = len(nodes), []
        for size in range(1, len(nodes) + 1):
            for mask in itertools.combinations(nodes, size):
                cpus = union(topology.nodes[node] for node in mask)
                if len(cpus) >= count:
                    fewest = min(fewest, size)
                if reusable <= cpus and len(reusable) + len(available & cpus) >= count:
                    fitting.append((mask, cpus))
        per_socket = topology.nr_nodes // topology.nr_sockets
        fewest_sockets = ceil_div(fewest, per_socket) if self.by_socket and per_socket else -1
        return [(mask, len(mask) == fewest or fewest_sockets ==
                 sum(1 for socket in topology.sockets.values() if socket & cpus))
                for mask, cpus in fitting]

    def hints(self, uid, container):
        pod = self.pods[uid]
        count = self.exclusive_count(pod, container)
        if not count or self.ignores(pod):
            return None
        cpus = self.assigned.get(uid, {}).get(container["name"])
        if cpus is not None:
            return self.hints_from(cpus, set(), count) if len(cpus) == count else []
        return self.hints_from(self.default - self.reserved, self.reusable.get(uid, set()), count)

    def pod_hints(self, uid):
        pod = self.pods[uid]
        count = 0 if self.ignores(pod) else self.pod_count(pod)
        if not count:
            return None
        if "pod" in pod and not self.leaves_a_shared_pool(pod, count):
            return []
        held = set()
        for container, _ in containers_of(pod):
            cpus = self.assigned.get(uid, {}).get(container["name"])
            if cpus is not None and len(cpus) != self.exclusive_count(pod, container):
                return []
            held |= cpus or set()
        if len(held) == count:
            return self.hints_from(held, set(), count)
        return self.hints_from(self.default - self.reserved,
                               self.reusable.get(uid, set()) | held, count)


# --- cases as the vectors have them ---------------------------------------------------------------


def answer_take(case, topology, repaired):
    free, spread = parse_cpus(case["available"]), case.get("sorting") == "spread"
    try:
        if case["kind"] == "take_packed":
            cpus = take_packed(topology, free, case["num"], spread, case.get("uncore", False),
                               repaired)
        else:
            cpus = take_distributed(topology, free, case["num"], case["group"], spread, repaired)
    except Refused as refused:
        return {"error": str(refused)}
    return {"cpus": format_cpus(cpus)}


def answer_step(policy, step):
    uid, name, answer = step["pod"], step.get("container"), {}
    affinity = set(step["hint"]) if "hint" in step else None
    container, is_init = next(((c, i) for c, i in containers_of(policy.pods[uid])
                               if c["name"] == name), (None, False))
    if step["op"] in ("hints", "pod_hints"):
        hints = (policy.pod_hints(uid) if step["op"] == "pod_hints"
                 else policy.hints(uid, container))
        return {"hints": hints and [[format(sum(1 << node for node in mask), "x"), int(preferred)]
                                    for mask, preferred in hints]}
    try:
        if step["op"] == "allocate":
            policy.allocate(uid, container, is_init, affinity)
            if name in policy.assigned.get(uid, {}):
                answer["cpus"] = format_cpus(policy.assigned[uid][name])
        elif step["op"] == "allocate_pod":
            policy.allocate_pod(uid, affinity)
        else:
            policy.remove(uid, name)
    except Refused as refused:
        answer["error"] = str(refused)
    if step["op"] == "allocate_pod":
        if uid in policy.bubbles:
            answer["pod_cpus"] = format_cpus(policy.bubbles[uid])
        if uid in policy.assigned:
            answer["containers"] = {n: format_cpus(c) for n, c in policy.assigned[uid].items()}
    answer["default"] = format_cpus(policy.default)
    return answer


def answer_static(case, topology, repaired):
    policy = StaticPolicy(case, topology, repaired)
    if "state" in case:
        state = case["state"]
        if state.get("default") or case.get("no_start"):
            policy.default = parse_cpus(state.get("default", ""))
        policy.assigned = {uid: {name: parse_cpus(cpus) for name, cpus in entry.items()}
                           for uid, entry in state.get("entries", {}).items()}
        policy.bubbles = {uid: parse_cpus(cpus)
                          for uid, cpus in state.get("pod_entries", {}).items()}
    policy.reusable = {uid: parse_cpus(cpus) for uid, cpus in case.get("reuse", {}).items()}
    answer = {"reserved": format_cpus(policy.reserved),
              "start_default": format_cpus(policy.default),
              "allocatable": format_cpus(topology.all - policy.reserved)}
    answer["steps"] = [answer_step(policy, step) for step in case.get("steps", [])]
    return answer


def answer(case, topology, repaired):
    if case["kind"] == "static":
        return answer_static(case, topology, repaired)
    return answer_take(case, topology, repaired)
