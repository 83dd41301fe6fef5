// SPDX-License-Identifier: Apache-2.0
/* Inverts the kubelet's conversions, and reads the annotations for what they lose. */
#include "runtime/request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/kubepods.h"
#include "lib/text.h"

/* The kernel's. */
#define DEFAULT_PERIOD_US 100000
/* The kubelet's MinQuotaPeriod: what a smaller quota becomes. */
#define MIN_QUOTA_US 1000

#define INIT_CONTAINERS REQUEST_ANNOTATION_PREFIX "init-containers"
#define SIDECARS	REQUEST_ANNOTATION_PREFIX "sidecar-containers"
#define POD_LEVEL	REQUEST_ANNOTATION_PREFIX "pod-level-resources"

__attribute__((format(printf, 2, 3))) static int refuse(char *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, REQUEST_ERROR_MAX, format, args);
	va_end(args);
	/* It quotes what a user wrote, and ends in a log. */
	text_make_printable(error);
	return -EINVAL;
}

/* --- quantities ------------------------------------------------------------------------------- */

/* value * factor / divisor, rounded up; the values are a runtime's, so the product saturates. */
static int64_t scale_up(int64_t value, int64_t factor, int64_t divisor)
{
	int64_t product;

	if (__builtin_mul_overflow(value, factor, &product))
		return INT64_MAX;
	return product / divisor + (product % divisor != 0);
}

/*
 * The kubelet computes floor(milli * period / 1000). With a period of at least 1 ms that grows with
 * each milli-CPU, so at most one limit has this quota, and rounding up finds it.
 */
int64_t request_mcpu_of_quota(int64_t quota_us, int64_t period_us)
{
	if (quota_us <= 0)
		return RESOURCE_UNSET;
	return scale_up(quota_us, 1000, period_us > 0 ? period_us : DEFAULT_PERIOD_US);
}

static int64_t value_of(struct nri_number number)
{
	return number.is_set ? number.value : 0;
}

static void read_resources(const struct nri_resources *from, struct resources *ret_request,
			   struct resources *ret_limit)
{
	int64_t memory = value_of(from->memory_bytes);

	*ret_request = *ret_limit = RESOURCES_UNSET;
	ret_request->cpu_mcpu = pod_mcpu_of_shares(value_of(from->shares));
	ret_limit->cpu_mcpu =
		request_mcpu_of_quota(value_of(from->quota_us), value_of(from->period_us));
	ret_limit->memory_bytes = memory > 0 ? memory : RESOURCE_UNSET;
}

/* "2MB", as the kernel's hugetlb controller names the sizes. False = it is none. */
static bool parse_page_size(const char *text, uint64_t *ret_bytes)
{
	static const char *const units[] = {"KB", "MB", "GB"};
	uint64_t bytes = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		if (bytes > UINT32_MAX / 10)
			return false;
		bytes = bytes * 10 + (uint64_t)(*at - '0');
	}
	for (unsigned int i = 0; bytes && i < 3; i++) {
		if (strcmp(at, units[i]) != 0)
			continue;
		*ret_bytes = bytes << (10 * (i + 1));
		return true;
	}
	return false;
}

/* Requests of huge pages always equal the limits. */
static int read_hugepages(const struct nri_resources *from, struct resources *request,
			  struct resources *limit, char *error)
{
	if (from->nr_hugepages > POD_MAX_HUGEPAGES || from->nr_hugepages > NRI_MAX_HUGEPAGES)
		return refuse(
			error,
			"the container has limits for %zu huge page sizes; expected %d at most",
			from->nr_hugepages, POD_MAX_HUGEPAGES);
	for (size_t i = 0; i < from->nr_hugepages; i++) {
		const uint64_t bytes = from->hugepages[i].bytes;

		if (!parse_page_size(from->hugepages[i].page_size, &limit->hugepages[i].size_bytes))
			return refuse(error,
				      "invalid huge page size '%.32s': expected one like 2MB",
				      from->hugepages[i].page_size);
		limit->hugepages[i].bytes = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
		request->hugepages[i] = limit->hugepages[i];
	}
	request->nr_hugepages = limit->nr_hugepages = (uint32_t)from->nr_hugepages;
	return 0;
}

/* --- the class -------------------------------------------------------------------------------- */

/* "a-b-c.slice" -> "a.slice/a-b.slice/a-b-c.slice", as systemd nests slices. False = too long. */
static bool expand_slice(const char *slice, char *path, size_t size)
{
	const size_t len = strlen(slice) - strlen(".slice");
	size_t at = 0;

	for (size_t end = 1; end <= len; end++) {
		int written;

		if (end < len && slice[end] != '-')
			continue;
		written = snprintf(path + at, size - at, "/%.*s.slice", (int)end, slice);
		if (written < 0 || (size_t)written >= size - at)
			return false;
		at += (size_t)written;
	}
	return true;
}

static bool is_slice(const char *name)
{
	const size_t len = strlen(name), suffix = strlen(".slice");

	return len > suffix && !strcmp(name + len - suffix, ".slice") && !strchr(name, '/');
}

bool request_qos(const char *cgroup_parent, enum qos_class *ret_qos)
{
	struct kubepods_name name;
	char path[2048] = "";

	if (is_slice(cgroup_parent) && !expand_slice(cgroup_parent, path, sizeof(path)))
		return false;
	if (kubepods_parse(*path ? path : cgroup_parent, &name) != KUBEPODS_POD || !name.has_qos)
		return false;
	*ret_qos = name.qos;
	return true;
}

/* --- names ------------------------------------------------------------------------------------ */

static bool is_lower_or_digit(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

/* Of letters, digits and `others`, and short enough for the record. */
static bool is_name(const char *text, size_t len, size_t size, const char *others)
{
	if (!len || len >= size)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_lower_or_digit(text[i]) && !(text[i] >= 'A' && text[i] <= 'Z') &&
		    !strchr(others, text[i]))
			return false;
	return true;
}

/* Names become parts of messages and of keys, and uids become directory names elsewhere. */
static int copy_name(const char *what, const char *text, const char *others, char *buffer,
		     size_t size, char *error)
{
	if (!is_name(text, strlen(text), size, others))
		return refuse(error,
			      "invalid %s '%.64s': expected up to %zu letters, digits and any of "
			      "'%s'",
			      what, text, size - 1, others);
	text_copy(buffer, size, text);
	return 0;
}

/* --- annotations ------------------------------------------------------------------------------ */

static const char *find_annotation(const struct nri_pod *pod, const char *key)
{
	for (size_t i = 0; i < pod->annotations.nr; i++)
		if (!strcmp(pod->annotations.pairs[i].key, key))
			return pod->annotations.pairs[i].value;
	return "";
}

/* Is the name an element of the list? `name` may be a part of a longer text. */
static bool is_listed(const char *list, const char *name, size_t len)
{
	for (const char *at = list; *at;) {
		const size_t element = strcspn(at, ",");

		if (element == len && !memcmp(at, name, len))
			return true;
		at += element;
		at += *at == ',';
	}
	return false;
}

static int check_list(const char *key, const char *list, char *error)
{
	uint32_t nr = 0;

	for (const char *at = list;;) {
		const size_t len = strcspn(at, ",");

		if (!is_name(at, len, POD_CONTAINER_NAME, "-"))
			return refuse(error,
				      "invalid annotation %s '%.64s': expected names of containers "
				      "separated by commas",
				      key, list);
		/* The author of a pod writes it, and check_disjoint() compares each with each. */
		if (++nr > POD_MAX_CONTAINERS)
			return refuse(error,
				      "annotation %s names more than %d containers; remove some",
				      key, POD_MAX_CONTAINERS);
		if (!at[len])
			return 0;
		at += len + 1;
	}
}

/* A container that is in both lists could be started as either. */
static int check_disjoint(const char *inits, const char *sidecars, char *error)
{
	for (const char *at = inits; *at;) {
		const size_t len = strcspn(at, ",");

		if (is_listed(sidecars, at, len))
			return refuse(
				error,
				"container '%.*s' is in both annotations %s and %s; remove it "
				"from one of them",
				(int)len, at, INIT_CONTAINERS, SIDECARS);
		at += len;
		at += *at == ',';
	}
	return 0;
}

static int check_annotation(const struct nri_pair *pair, char *error)
{
	if (strncmp(pair->key, REQUEST_ANNOTATION_PREFIX, strlen(REQUEST_ANNOTATION_PREFIX)))
		return 0;
	if (!strcmp(pair->key, INIT_CONTAINERS) || !strcmp(pair->key, SIDECARS))
		return check_list(pair->key, pair->value, error);
	if (strcmp(pair->key, POD_LEVEL))
		return refuse(error,
			      "unknown annotation %.64s; remove it, or see docs/kubernetes.md for "
			      "those that pinfold reads",
			      pair->key);
	if (strcmp(pair->value, "true") && strcmp(pair->value, "false"))
		return refuse(error, "invalid annotation %s '%.64s': expected true or false",
			      pair->key, pair->value);
	return 0;
}

static int check_annotations(const struct nri_pod *pod, char *error)
{
	for (size_t i = 0; i < pod->annotations.nr; i++) {
		int r = check_annotation(&pod->annotations.pairs[i], error);

		if (r)
			return r;
	}
	return check_disjoint(find_annotation(pod, INIT_CONTAINERS), find_annotation(pod, SIDECARS),
			      error);
}

/* --- the pod ---------------------------------------------------------------------------------- */

int request_of_pod(const struct nri_pod *pod, struct pod_spec *ret_spec,
		   char error[REQUEST_ERROR_MAX])
{
	struct pod_spec spec = {
		.request = RESOURCES_UNSET,
		.limit = RESOURCES_UNSET,
		.overhead = RESOURCES_UNSET,
		.is_of_runtime = true,
		.stated_qos = QOS_BURSTABLE,
		.has_pod_resources = !strcmp(find_annotation(pod, POD_LEVEL), "true"),
	};
	struct resources overhead_limit;
	enum qos_class qos;
	bool is_known = request_qos(pod->cgroup_parent, &qos);
	int r;

	if (is_known)
		spec.stated_qos = qos;
	r = copy_name("pod uid", pod->uid, "-", spec.uid, sizeof(spec.uid), error);
	if (!r)
		r = copy_name("namespace", pod->namespace, "-.", spec.namespace,
			      sizeof(spec.namespace), error);
	if (!r)
		r = copy_name("pod name", pod->name, "-.", spec.name, sizeof(spec.name), error);
	if (!r)
		r = check_annotations(pod, error);
	if (r)
		return r;
	/* Without the annotation these are only the sums over the containers. */
	if (spec.has_pod_resources) {
		read_resources(&pod->resources, &spec.request, &spec.limit);
		if (spec.stated_qos == QOS_GUARANTEED)
			spec.request.memory_bytes = spec.limit.memory_bytes;
	}
	read_resources(&pod->overhead, &spec.overhead, &overhead_limit);
	if (overhead_limit.memory_bytes != RESOURCE_UNSET)
		spec.overhead.memory_bytes = overhead_limit.memory_bytes;
	*ret_spec = spec;
	return 0;
}

/* --- its containers --------------------------------------------------------------------------- */

/*
 * May the limits be taken for the requests? A kubelet writes no quota for a container with
 * exclusive CPUs (since 1.33) or with cpuCFSQuota off, and not less than 1000 us for a small one.
 */
static bool is_guaranteed(const struct nri_resources *resources, const struct resources *request,
			  const struct resources *limit)
{
	const bool is_small = value_of(resources->quota_us) == MIN_QUOTA_US;

	if (request->cpu_mcpu == RESOURCE_UNSET || limit->memory_bytes == RESOURCE_UNSET)
		return false;
	return limit->cpu_mcpu == RESOURCE_UNSET || limit->cpu_mcpu == request->cpu_mcpu ||
	       (is_small && request->cpu_mcpu < limit->cpu_mcpu) ||
	       (value_of(resources->shares) >= CPU_SHARES_MAX &&
		limit->cpu_mcpu > request->cpu_mcpu);
}

static bool is_in_guaranteed_pod(const struct nri_pod *pod)
{
	enum qos_class qos;

	return request_qos(pod->cgroup_parent, &qos) && qos == QOS_GUARANTEED;
}

bool request_shows_pod_level(const struct nri_pod *pod, const struct nri_container *container)
{
	struct resources request, limit;

	read_resources(&container->resources, &request, &limit);
	return is_in_guaranteed_pod(pod) && !is_guaranteed(&container->resources, &request, &limit);
}

static void equate(const struct nri_resources *resources, struct resources *request,
		   struct resources *limit)
{
	/* Shares end at 256 CPUs; the quota does not. */
	if (value_of(resources->shares) >= CPU_SHARES_MAX && limit->cpu_mcpu > request->cpu_mcpu)
		request->cpu_mcpu = limit->cpu_mcpu;
	limit->cpu_mcpu = request->cpu_mcpu;
	request->memory_bytes = limit->memory_bytes;
}

static enum container_kind find_kind(const struct nri_pod *pod, const char *name)
{
	if (is_listed(find_annotation(pod, INIT_CONTAINERS), name, strlen(name)))
		return CONTAINER_INIT;
	if (is_listed(find_annotation(pod, SIDECARS), name, strlen(name)))
		return CONTAINER_SIDECAR;
	return CONTAINER_APP;
}

int request_of_container(const struct nri_pod *pod, const struct nri_container *container,
			 struct container_spec *ret_container, char error[REQUEST_ERROR_MAX])
{
	const struct nri_resources *resources = &container->resources;
	struct container_spec spec = {.kind = find_kind(pod, container->name)};
	int r = copy_name("container name", container->name, "-", spec.name, sizeof(spec.name),
			  error);

	if (!r)
		r = check_annotations(pod, error);
	if (r)
		return r;
	read_resources(resources, &spec.request, &spec.limit);
	r = read_hugepages(resources, &spec.request, &spec.limit, error);
	if (r)
		return r;
	if (is_in_guaranteed_pod(pod) && is_guaranteed(resources, &spec.request, &spec.limit))
		equate(resources, &spec.request, &spec.limit);
	*ret_container = spec;
	return 0;
}
