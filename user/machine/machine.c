// SPDX-License-Identifier: Apache-2.0
/*
 * Determines the kind of source and converts it to a topology. Every failure becomes one
 * message for the operator; nothing is logged.
 */
#include "machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <numa.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/facts.h"
#include "lib/file.h"
#include "machine/survey.h"
#include "machine/sysfs.h"

/* lstopo's file for a machine with 8192 CPUs has about 12 MiB. */
#define XML_MAX_BYTES (32U << 20)

struct machine_report {
	const char *source;
	char *error;
	size_t size;
};

__attribute__((format(printf, 3, 4))) static int fail(const struct machine_report *report, int code,
						      const char *format, ...)
{
	char sentence[MACHINE_ERROR_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	snprintf(report->error, report->size, "topology '%.160s': %s", report->source, sentence);
	return code;
}

void machine_fini(struct machine *machine)
{
	topology_free(machine->topology);
	*machine = (struct machine){0};
}

void machine_special_cpus(const struct machine *machine, struct cpuset *ret_cpus)
{
	struct cpuset cpus = machine->isolated;

	cpuset_union(&cpus, &machine->nohz_full);
	cpuset_intersect(&cpus, &machine->topology->all);
	*ret_cpus = cpus;
}

static bool ends_in(const char *text, const char *ending)
{
	size_t len = strlen(text), tail = strlen(ending);

	return len > tail && strcmp(text + len - tail, ending) == 0;
}

static int read_file(const struct machine_report *report, size_t max_bytes, char **ret_data,
		     size_t *ret_len)
{
	int err = file_read_path(report->source, max_bytes, ret_data, ret_len);

	if (err == -EFBIG)
		return fail(report, err, "the file is larger than %zu bytes", max_bytes);
	if (err)
		return fail(report, err, "cannot be read: %s", strerror(-err));
	return 0;
}

/* --- facts ------------------------------------------------------------------------------------ */

static int read_facts(const struct machine_report *report, struct machine *machine)
{
	char *data cleanup_free = NULL, sentence[FORMAT_ERROR_TEXT_MAX];
	struct format_error error = {0};
	size_t len;
	int err = read_file(report, FACTS_MAX_BYTES, &data, &len);

	if (err)
		return err;
	err = facts_parse(data, len, &error, &machine->topology);
	if (err == -EINVAL)
		return fail(report, err, "%s",
			    format_error_text(&error, NULL, sentence, sizeof(sentence)));
	return err;
}

/* --- hwloc ------------------------------------------------------------------------------------ */

static int build_topology(const struct machine_report *report, const struct survey *survey,
			  struct machine *machine)
{
	const struct topology_facts facts = {
		.cpus = survey->cpus,
		.nr_cpus = survey->nr_cpus,
		.nodes = survey->nodes,
		.nr_nodes = survey->nr_nodes,
		.distances = survey->distances,
		TOPOLOGY_COUNT_ALL,
	};
	char sentence[256];
	int err = topology_new(&facts, sentence, sizeof(sentence), &machine->topology);

	return err == -EINVAL ? fail(report, err, "%s", sentence) : err;
}

/* Convert a loaded hwloc topology to ours. */
static int convert(const struct machine_report *report, hwloc_topology_t hwloc, int root_fd,
		   bool use_libnuma, struct machine *machine)
{
	struct survey survey cleanup_survey = {0};
	int err = survey_take(hwloc, root_fd, use_libnuma, &survey);

	if (err == -E2BIG)
		return fail(report, -EINVAL, "more than %d CPUs or %d NUMA nodes, or no CPU",
			    CPUSET_MAX, TOPOLOGY_MAX_NODES);
	return err ? err : build_topology(report, &survey, machine);
}

static int start_hwloc(hwloc_topology_t *ret_hwloc)
{
	if (hwloc_topology_init(ret_hwloc) < 0)
		return -ENOMEM;
	/*
	 * The agent itself runs on the reserved CPUs; without this flag hwloc would show
	 * only those.
	 */
	hwloc_topology_set_flags(*ret_hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	return 0;
}

static int read_xml(const struct machine_report *report, struct machine *machine)
{
	char *data cleanup_free = NULL;
	hwloc_topology_t hwloc;
	size_t len;
	int err = read_file(report, XML_MAX_BYTES, &data, &len);

	if (!err)
		err = start_hwloc(&hwloc);
	if (err)
		return err;
	/* The length includes the NUL. */
	if (hwloc_topology_set_xmlbuffer(hwloc, data, len + 1) < 0 ||
	    hwloc_topology_load(hwloc) < 0)
		err = fail(report, -EINVAL,
			   "hwloc cannot read this XML; save it with 'lstopo machine.xml' on "
			   "the machine");
	if (!err)
		err = convert(report, hwloc, -1, false, machine);
	hwloc_topology_destroy(hwloc);
	return err;
}

/*
 * The time that hwloc needs grows with the cube of the number of children of one object:
 * 0.2 s for 1024, 5 s for 4096 (measured with 2.9).
 */
#define MAX_CHILDREN 1024

/* Descriptions that hwloc must not be given. */
enum excess { EXCESS_NONE, EXCESS_CPUS, EXCESS_CHILDREN };

/*
 * hwloc allocates whatever a description asks for, in time that grows faster than the
 * number of CPUs. Check that number, the product of all widths, first.
 */
static enum excess excess_of_levels(const char *description)
{
	unsigned long total = 1, widest = 0;

	for (const char *at = strchr(description, ':'); at; at = strchr(at + 1, ':')) {
		unsigned long width = strtoul(at + 1, NULL, 10);

		if (width > CPUSET_MAX || total * (width ? width : 1) > CPUSET_MAX)
			return EXCESS_CPUS;
		total *= width ? width : 1;
		widest = width > widest ? width : widest;
	}
	return widest > MAX_CHILDREN ? EXCESS_CHILDREN : EXCESS_NONE;
}

/* hwloc accepts widths without a type ("2 4 2"), so plain numbers count too. */
static enum excess excess_of_numbers(const char *description)
{
	unsigned long total = 1, widest = 0;

	for (const char *at = description; *at;) {
		unsigned long width = 1;

		if (*at >= '0' && *at <= '9' && (at == description || at[-1] == ' ')) {
			width = strtoul(at, (char **)&at, 10);
			if (width > CPUSET_MAX)
				return EXCESS_CPUS;
		} else {
			at++;
		}
		total *= width ? width : 1;
		if (total > CPUSET_MAX)
			return EXCESS_CPUS;
		widest = width > widest ? width : widest;
	}
	return widest > MAX_CHILDREN ? EXCESS_CHILDREN : EXCESS_NONE;
}

static int read_synthetic(const struct machine_report *report, struct machine *machine)
{
	enum excess excess = excess_of_levels(report->source);
	hwloc_topology_t hwloc;
	int err;

	if (!excess)
		excess = excess_of_numbers(report->source);
	if (excess == EXCESS_CHILDREN)
		return fail(report, -EINVAL,
			    "one of its objects has more than %d children, for which hwloc takes "
			    "minutes; put levels between (package, numa, l3), or write the "
			    "machine as facts in a file named .json",
			    MAX_CHILDREN);
	if (excess == EXCESS_CPUS)
		return fail(report, -EINVAL,
			    "it describes more than the supported maximum of %d CPUs", CPUSET_MAX);
	err = start_hwloc(&hwloc);
	if (err)
		return err;
	if (hwloc_topology_set_synthetic(hwloc, report->source) < 0 ||
	    hwloc_topology_load(hwloc) < 0)
		err = fail(report, -EINVAL,
			   "neither 'live', nor a file named .xml or .json, nor an hwloc "
			   "description; write one like 'package:2 numa:1 core:8 pu:2'");
	if (!err)
		err = convert(report, hwloc, -1, false, machine);
	hwloc_topology_destroy(hwloc);
	return err;
}

/* --- this computer ---------------------------------------------------------------------------- */

/* hwloc accepts another root directory only from the environment. */
static int load_live(hwloc_topology_t hwloc, const char *root)
{
	bool moved = strcmp(root, "/") != 0;
	int err;

	if (moved && setenv("HWLOC_FSROOT", root, 1) < 0)
		return -ENOMEM;
	/*
	 * The x86 backend binds the calling thread to each CPU in turn to execute cpuid.
	 * That disturbs a machine that is in use, and Linux' sysfs has the same
	 * information.
	 */
	hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
	err = hwloc_topology_load(hwloc) < 0 ? -EIO : 0;
	if (moved)
		unsetenv("HWLOC_FSROOT");
	return err;
}

static int read_kernel_sets(const struct machine_report *report, int root_fd,
			    struct machine *machine)
{
	const struct {
		const char *file;
		struct cpuset *cpus;
	} sets[] = {
		{"online", &machine->online},
		{"possible", &machine->possible},
		{"isolated", &machine->isolated},
		{"nohz_full", &machine->nohz_full},
	};

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		int err = sysfs_read_cpus(root_fd, sets[i].file, sets[i].cpus);

		if (err)
			return fail(report, err, "/sys/devices/system/cpu/%s: %s", sets[i].file,
				    strerror(-err));
	}
	return 0;
}

static int read_live(const struct machine_report *report, const char *root, struct machine *machine)
{
	bool here = strcmp(root, "/") == 0;
	int root_fd cleanup_close = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	hwloc_topology_t hwloc;
	int err;

	if (root_fd < 0)
		return fail(report, -errno, "root '%.128s': %s", root, strerror(errno));
	err = read_kernel_sets(report, root_fd, machine);
	if (!err)
		err = start_hwloc(&hwloc);
	if (err)
		return err;
	err = load_live(hwloc, root);
	if (err)
		err = fail(report, err, "hwloc cannot read this machine; is /sys mounted?");
	else
		err = convert(report, hwloc, root_fd, here && numa_available() >= 0, machine);
	hwloc_topology_destroy(hwloc);
	machine->live = true;
	return err;
}

int machine_read(const char *source, const char *root, char *error, size_t error_size,
		 struct machine *ret_machine)
{
	const struct machine_report report = {source, error, error_size};
	struct machine machine = {0};
	int err;

	if (strcmp(source, "live") == 0)
		err = read_live(&report, root ? root : "/", &machine);
	else if (ends_in(source, ".xml"))
		err = read_xml(&report, &machine);
	else if (ends_in(source, ".json"))
		err = read_facts(&report, &machine);
	else
		err = read_synthetic(&report, &machine);
	if (err) {
		machine_fini(&machine);
		if (err == -ENOMEM)
			fail(&report, err, "out of memory");
		return err;
	}
	if (cpuset_is_empty(&machine.online))
		machine.online = machine.topology->all;
	if (cpuset_is_empty(&machine.possible))
		machine.possible = machine.online;
	*ret_machine = machine;
	return 0;
}
