/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* Paths and names that the agent and the inspector share. */
#ifndef PINFOLD_NAMES_H
#define PINFOLD_NAMES_H

#define PINFOLD_VERSION "0.1.0"
/* The JSON contract: additions keep it, a change of meaning raises it. */
#define PINFOLD_SCHEMA_VERSION 1

#define PINFOLD_CONFIG_FILE	"/etc/pinfold/config.yaml"
#define PINFOLD_MANIFEST_DIR	"/etc/pinfold/pods.d"
#define PINFOLD_STATE_DIR	"/var/lib/pinfold"
#define PINFOLD_RUNTIME_DIR	"/run/pinfold"
#define PINFOLD_STATE_FILE	"state.json"
#define PINFOLD_ORIGINALS_FILE	"originals.json"
#define PINFOLD_IRQS_FILE	"irqs.json"
#define PINFOLD_STRANGERS_FILE	"strangers.json"
#define PINFOLD_STRANGERS_NOTE	"strangers.note"
#define PINFOLD_HOST_FILE	"host.json"
#define PINFOLD_IRQBALANCE_FILE "irqbalance.json"
#define PINFOLD_LOCK_FILE	"lock"
#define PINFOLD_ABILITIES_FILE	"abilities"
#define PINFOLD_SOCKET_FILE	"api.sock"
#define PINFOLD_BPFFS_DIR	"/sys/fs/bpf/pinfold"
#define PINFOLD_CGROUP_MOUNT	"/sys/fs/cgroup"
#define PINFOLD_WORKLOAD_ROOT	"pinfold.slice"
#define PINFOLD_SERVICE		"pinfoldd.service" /* the unit that runs the agent */
#define PINFOLD_KUBELET_DIR	"/var/lib/kubelet"
#define PINFOLD_RUNTIMES_DIR	"/run" /* has containerd's and CRI-O's state directories */
#define PINFOLD_METRICS_ADDRESS "127.0.0.1:9417"

#endif
