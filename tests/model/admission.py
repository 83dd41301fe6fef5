# SPDX-License-Identifier: Apache-2.0
"""A whole pod through the kubelet's topology manager (v1.36.3) with the CPU manager as its
only provider: what a pod is admitted with, or refused for.
"""
from cpu_manager import Refused, StaticPolicy, containers_of, format_cpus
from topology_manager import answer_merge

REASONS = {"smt-not-multiple": "SMTAlignmentError", "smt-no-free-cores": "SMTAlignmentError",
           "empty-pod-shared-pool": "EmptyPodSharedPoolError"}


def mask_of(nodes):
    return sum(1 << node for node in nodes)


class Unaligned(Exception):
    pass


class Kubelet:
    def __init__(self, case, topology, repaired):
        self.cpus = StaticPolicy(case, topology, repaired)
        self.nodes, self.case = sorted(topology.nodes), case
        self.affinities, self.to_sweep = {}, None

    def sweep(self):
        """The CPUs that a rejected pod left go before the next step; its affinities stay."""
        if self.to_sweep:
            self.remove_cpus(self.to_sweep)
        self.to_sweep = None

    def remove_cpus(self, uid):
        for container, _ in containers_of(self.cpus.pods[uid]):
            self.cpus.remove(uid, container["name"])

    def remove_pod(self, uid):
        self.remove_cpus(uid)
        for container, _ in containers_of(self.cpus.pods[uid]):
            self.affinities.pop((uid, container["name"]), None)

    def align(self, hints):
        provider = None if hints is None else {
            "cpu": [[mask_of(nodes), preferred] for nodes, preferred in hints]}
        answer = answer_merge({"policy": self.case["tm_policy"], "numa": self.nodes,
                               "providers": [provider]})
        if not answer["admit"]:
            raise Unaligned
        return answer["hint"][0]

    def affinity_of(self, uid, name):
        mask = self.affinities.get((uid, name))
        return None if mask is None else {node for node in self.nodes if mask >> node & 1}

    def admit(self, uid):
        pod = self.cpus.pods[uid]
        pod_scope = self.case.get("tm_scope") == "pod"
        aligns = self.case["tm_policy"] != "none"
        if aligns and pod_scope:
            mask = self.align(self.cpus.pod_hints(uid))
            if self.cpus.pod_level and "pod" in pod:
                self.affinities.update({(uid, c["name"]): mask for c, _ in containers_of(pod)})
                first = containers_of(pod)[0][0]["name"]
                self.cpus.allocate_pod(uid, self.affinity_of(uid, first))
                return
        for container, is_init in containers_of(pod):
            name = container["name"]
            if aligns:
                self.affinities[uid, name] = (mask if pod_scope
                                              else self.align(self.cpus.hints(uid, container)))
            self.cpus.allocate(uid, container, is_init, self.affinity_of(uid, name))

    def answer_admit(self, uid):
        answer = {"admit": True}
        try:
            self.admit(uid)
        except Unaligned:
            answer = {"admit": False, "reason": "TopologyAffinityError"}
        except Refused as refused:
            name = str(refused)
            answer = {"admit": False, "reason": REASONS.get(name, "UnexpectedAdmissionError")}
            if name not in REASONS:
                answer["error"] = name
        if not answer["admit"]:
            self.to_sweep = uid
        if uid in self.cpus.bubbles:
            answer["pod_cpus"] = format_cpus(self.cpus.bubbles[uid])
        if uid in self.cpus.assigned:
            answer["containers"] = {name: format_cpus(cpus)
                                    for name, cpus in self.cpus.assigned[uid].items()}
        masks = {c["name"]: self.affinities.get((uid, c["name"]))
                 for c, _ in containers_of(self.cpus.pods[uid])}
        answer["affinity"] = {name: mask and format(mask, "x") for name, mask in masks.items()}
        return answer


def answer_admission(case, topology, repaired):
    kubelet, steps = Kubelet(case, topology, repaired), []
    cpus = kubelet.cpus
    answer = {"reserved": format_cpus(cpus.reserved), "start_default": format_cpus(cpus.default),
              "allocatable": format_cpus(topology.all - cpus.reserved), "steps": steps}
    for step in case["steps"]:
        kubelet.sweep()
        if step["op"] == "admit":
            said = kubelet.answer_admit(step["pod"])
        else:
            kubelet.remove_pod(step["pod"])
            said = {}
        steps.append({**said, "default": format_cpus(cpus.default)})
    return answer
