// SPDX-License-Identifier: Apache-2.0
/*
 * One pod at a time, in the order of the files. Nothing is decided here: the
 * ledger takes what the kubelet decided, or says which invariant it breaks.
 */
#include "kubelet/import.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/quantity.h"

struct importer {
	struct ledger *ledger;
	const struct topology *topology;
	const struct kubelet_cpu_state *cpu;
	const struct kubelet_memory_state *memory;
	char *error;
	size_t error_size;
};

static int refuse(struct importer *importer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int refuse(struct importer *importer, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(importer->error, importer->error_size, format, args);
	va_end(args);
	return -EINVAL;
}

/* --- what is in the files at all -------------------------------------------------------------- */

static int check_cpus(struct importer *importer, const char *what, const char *name,
		      const struct cpuset *cpus)
{
	struct cpuset gone = *cpus;
	char list[64], here[64];

	cpuset_subtract(&gone, &importer->topology->all);
	if (cpuset_is_empty(&gone))
		return 0;
	cpuset_format(&gone, list, sizeof(list));
	cpuset_format(&importer->topology->all, here, sizeof(here));
	return refuse(importer,
		      "%s%.64s has CPUs %.63s, which are not on this machine (it has %.63s); "
		      "import on the machine the kubelet ran on, with the same CPUs online",
		      what, name, list, here);
}

static int check_entry(struct importer *importer, const struct kubelet_entry *entry)
{
	if (!*entry->pod || strlen(entry->pod) >= POD_UID_MAX)
		return refuse(importer,
			      "a pod has %s uid; the kubelet's files identify pods only by uid, "
			      "so no manifest could match it",
			      *entry->pod ? "too long a" : "no");
	if (strlen(entry->container) >= POD_CONTAINER_NAME)
		return refuse(importer, "pod %.63s: container '%.40s…' has too long a name",
			      entry->pod, entry->container);
	return check_cpus(importer, "pod ", entry->pod, &entry->cpus);
}

static int check_entries(struct importer *importer, const struct kubelet_entries *entries)
{
	int r = 0;

	for (uint32_t i = 0; i < entries->nr && !r; i++)
		r = check_entry(importer, &entries->entries[i]);
	return r;
}

static int check_file(struct importer *importer)
{
	const struct kubelet_cpu_state *cpu = importer->cpu;
	int r;

	r = check_cpus(importer, "defaultCpuSet", "", &cpu->default_cpus);
	if (!r)
		r = check_entries(importer, &cpu->containers);
	return r ? r : check_entries(importer, &cpu->pods);
}

/* --- one pod ---------------------------------------------------------------------------------- */

static const struct kubelet_entry *find_bubble(const struct importer *importer, const char *uid)
{
	const struct kubelet_entries *pods = &importer->cpu->pods;

	for (uint32_t i = 0; i < pods->nr; i++)
		if (!strcmp(pods->entries[i].pod, uid))
			return &pods->entries[i];
	return NULL;
}

static const struct kubelet_memory_entry *find_blocks(const struct kubelet_memory_entries *entries,
						      const char *uid, const char *container)
{
	for (uint32_t i = 0; i < entries->nr; i++)
		if (!strcmp(entries->entries[i].pod, uid) &&
		    !strcmp(entries->entries[i].container, container))
			return &entries->entries[i];
	return NULL;
}

/* Containers that share one set are on the pod shared pool. */
static bool is_pooled(const struct kubelet_entry *entries, uint32_t nr, uint32_t index)
{
	for (uint32_t i = 0; i < nr; i++)
		if (i != index && cpuset_equal(&entries[i].cpus, &entries[index].cpus))
			return true;
	return false;
}

/*
 * Only an init container leaves CPUs of its own to others. Which of two it is the
 * file does not say, and for what the pod holds it does not matter: the first.
 */
static bool is_init(const struct kubelet_entry *entries, uint32_t nr, uint32_t index)
{
	for (uint32_t i = index + 1; i < nr; i++)
		if (cpuset_intersects(&entries[i].cpus, &entries[index].cpus))
			return true;
	return false;
}

static int add_bytes(struct importer *importer, const struct kubelet_memory_block *block,
		     struct resources *resources)
{
	int64_t page_bytes = 0;

	if (block->bytes > INT64_MAX)
		return refuse(importer, "a block of %s is larger than any machine", block->type);
	if (!strcmp(block->type, "memory")) {
		resources->memory_bytes = (int64_t)block->bytes;
		return 0;
	}
	if (strncmp(block->type, "hugepages-", 10) ||
	    quantity_parse(block->type + 10, strlen(block->type + 10), &page_bytes) ||
	    resources->nr_hugepages == POD_MAX_HUGEPAGES)
		return refuse(importer, "a memory block has the unknown type '%.40s'", block->type);
	resources->hugepages[resources->nr_hugepages].size_bytes = (uint64_t)page_bytes;
	resources->hugepages[resources->nr_hugepages++].bytes = (int64_t)block->bytes;
	return 0;
}

static int add_nodes(struct importer *importer, const struct kubelet_memory_entry *entry,
		     const struct kubelet_memory_block *block, node_mask_t *mems)
{
	const struct topology *topology = importer->topology;

	for (uint32_t i = 0; i < block->nr_nodes; i++) {
		uint32_t node = 0;

		while (node < topology->nr_memory_nodes &&
		       topology->memory_nodes[node].id != block->nodes[i])
			node++;
		if (node == topology->nr_memory_nodes)
			return refuse(importer,
				      "pod %.63s container %.63s has memory on NUMA node %u, which "
				      "is not on this machine",
				      entry->pod, entry->container, block->nodes[i]);
		*mems |= (node_mask_t)1 << node;
	}
	return 0;
}

static int add_memory(struct importer *importer, const struct kubelet_memory_entry *entry,
		      struct resources *request, node_mask_t *mems)
{
	int r = 0;

	for (uint32_t i = 0; entry && i < entry->nr_blocks && !r; i++) {
		r = add_bytes(importer, &entry->blocks[i], request);
		if (!r)
			r = add_nodes(importer, entry, &entry->blocks[i], mems);
	}
	return r;
}

/* An exclusive container has a memory limit; one that is not known must bind nobody. */
#define UNKNOWN_MEMORY_BYTES (1LL << 50)

static int add_container(struct importer *importer, const struct kubelet_entry *entry,
			 enum container_kind kind, enum isolation isolation, struct ledger_pod *pod)
{
	struct container_spec *spec = &pod->spec->containers[pod->nr_grants];
	struct grant *grant = &pod->grants[pod->nr_grants];
	int r = 0;

	pod->spec->nr_containers = ++pod->nr_grants;
	*spec = (struct container_spec){
		.kind = kind, .request = RESOURCES_UNSET, .limit = RESOURCES_UNSET};
	snprintf(spec->name, sizeof(spec->name), "%s", entry->container);
	*grant = (struct grant){.kind = kind, .isolation = isolation, .cpus = &entry->cpus};
	snprintf(grant->container, sizeof(grant->container), "%s", entry->container);
	if (importer->memory)
		r = add_memory(importer,
			       find_blocks(&importer->memory->containers, entry->pod,
					   entry->container),
			       &spec->request, &grant->mems);
	if (isolation == ISOLATION_POD) {
		spec->request = RESOURCES_UNSET;
		return r;
	}
	spec->request.cpu_mcpu = 1000 * (int64_t)cpuset_count(&entry->cpus);
	/* Nothing is left to an init container whose memory a later one has now. */
	if (spec->request.memory_bytes <= 0) {
		spec->request.memory_bytes = UNKNOWN_MEMORY_BYTES;
		grant->mems = 0;
	}
	spec->limit = spec->request;
	return r;
}

/* Init containers stand before the others. */
static int add_containers(struct importer *importer, const struct kubelet_entry *entries,
			  uint32_t nr, struct ledger_pod *pod)
{
	int r = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < nr && !r; i++) {
			bool pooled = pod->has_bubble && is_pooled(entries, nr, i);
			bool init = !pooled && is_init(entries, nr, i);

			if (init == (pass == 0))
				r = add_container(importer, &entries[i],
						  init ? CONTAINER_INIT : CONTAINER_APP,
						  pooled ? ISOLATION_POD : ISOLATION_CONTAINER,
						  pod);
		}
	}
	return r;
}

static int fill_budget(struct importer *importer, const struct kubelet_entry *bubble,
		       struct ledger_pod *pod)
{
	struct pod_spec *spec = pod->spec;
	node_mask_t mems = 0;
	int r = 0;

	if (!bubble)
		return 0;
	pod->has_bubble = true;
	pod->bubble = &bubble->cpus;
	spec->has_pod_resources = true;
	spec->request.cpu_mcpu = 1000 * (int64_t)cpuset_count(&bubble->cpus);
	if (importer->memory)
		r = add_memory(importer, find_blocks(&importer->memory->pods, bubble->pod, ""),
			       &spec->request, &mems);
	if (spec->request.memory_bytes <= 0)
		spec->request.memory_bytes = UNKNOWN_MEMORY_BYTES;
	spec->limit = spec->request;
	return r;
}

static int fill_pod(struct importer *importer, const struct kubelet_entry *entries, uint32_t nr,
		    struct ledger_pod *pod)
{
	int r = ledger_pod_allocate(pod, nr);

	if (r)
		return r;
	snprintf(pod->spec->uid, sizeof(pod->spec->uid), "%s", entries->pod);
	snprintf(pod->spec->name, sizeof(pod->spec->name), "%s", entries->pod);
	snprintf(pod->spec->namespace, sizeof(pod->spec->namespace), KUBELET_IMPORT_NAMESPACE);
	pod->spec->request = pod->spec->limit = pod->spec->overhead = RESOURCES_UNSET;
	r = fill_budget(importer, find_bubble(importer, entries->pod), pod);
	if (!r)
		r = add_containers(importer, entries, nr, pod);
	pod->qos = pod_qos(pod->spec);
	pod->state = POD_ENDING;
	snprintf(pod->detail, sizeof(pod->detail),
		 "imported from a kubelet's files; waiting for a manifest with this uid");
	return r;
}

static int restore_pod(struct importer *importer, const struct kubelet_entry *entries, uint32_t nr)
{
	const struct cpu_manager *manager = ledger_cpu_manager(importer->ledger);
	struct ledger_pod pod = {0};
	char why[224] = "";
	int r = nr > POD_MAX_CONTAINERS
			? refuse(importer, "pod %.63s has %u containers, more than %d",
				 entries->pod, nr, POD_MAX_CONTAINERS)
			: fill_pod(importer, entries, nr, &pod);

	if (!r && pod.has_bubble && !cpu_is_bubble_pod(manager, pod.spec, pod.qos))
		r = refuse(importer,
			   "pod %.63s has exclusive CPUs as a whole, which requires "
			   "topologyManagerScope pod, a topologyManagerPolicy and the gate "
			   "PodLevelResourceManagers, as in the kubelet",
			   pod.spec->uid);
	if (!r) {
		r = ledger_restore(importer->ledger, &pod, why, sizeof(why));
		if (r && r != -ENOMEM)
			r = refuse(importer,
				   "%.220s; check that the configuration matches the "
				   "kubelet's",
				   why);
	}
	pod_spec_free(pod.spec);
	free(pod.grants);
	return r;
}

int kubelet_import(struct ledger *ledger, const struct kubelet_cpu_state *cpu,
		   const struct kubelet_memory_state *memory, char *error, size_t error_size)
{
	struct importer importer = {ledger,    ledger_topology(ledger), cpu, memory, error,
				    error_size};
	const struct kubelet_entries *containers = &cpu->containers;
	int r = check_file(&importer);

	if (!r)
		r = ledger_begin(ledger);
	if (r)
		return r;
	for (uint32_t i = 0, next; i < containers->nr && !r; i = next) {
		const struct kubelet_entry *first = &containers->entries[i];

		for (next = i + 1; next < containers->nr; next++)
			if (strcmp(containers->entries[next].pod, first->pod) != 0)
				break;
		r = restore_pod(&importer, first, next - i);
	}
	if (r)
		ledger_abort(ledger);
	else
		ledger_commit(ledger);
	return r;
}
