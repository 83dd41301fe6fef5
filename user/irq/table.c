// SPDX-License-Identifier: Apache-2.0
/*
 * Reads /proc/irq, /proc/interrupts and /sys/kernel/irq. Interrupts come and go while they are
 * read, so a missing file is not a failure. Every other error is one: an interrupt that is
 * left out loses its original.
 */
#include "irq/table.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/file.h"

/* 4096 interrupts on 512 CPUs are 23 MiB of text. */
#define INTERRUPTS_MAX (64U << 20)
#define PATH_SIZE      96

static void free_entry(struct irq_entry *entry)
{
	free(entry->identity);
	free(entry->name);
	free(entry->affinity);
	free(entry->effective);
	free(entry->original);
	free(entry->written);
	free(entry->refused);
	free(entry->target);
}

void irq_table_fini(struct irq_table *table)
{
	for (uint32_t i = 0; i < table->nr; i++)
		free_entry(&table->entries[i]);
	free(table->entries);
	free(table->exclusive);
	*table = (struct irq_table){0};
}

struct irq_entry *irq_table_add(struct irq_table *table, enum irq_kind kind, uint32_t number)
{
	struct irq_entry *bigger;

	/* Full at each power of two. */
	if (!(table->nr & (table->nr - 1))) {
		bigger = realloc(table->entries, (table->nr ? 2 * table->nr : 1) * sizeof(*bigger));
		if (!bigger)
			return NULL;
		table->entries = bigger;
	}
	table->entries[table->nr] =
		(struct irq_entry){.kind = kind, .number = number, .node_id = -1};
	return &table->entries[table->nr++];
}

static int by_number(const void *left, const void *right)
{
	const struct irq_entry *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

void irq_table_sort(struct irq_table *table)
{
	if (table->nr)
		qsort(table->entries, table->nr, sizeof(*table->entries), by_number);
}

static struct irq_entry *find(const struct irq_table *table, enum irq_kind kind, uint32_t number)
{
	const struct irq_entry key = {.kind = kind, .number = number};

	return table->nr ? bsearch(&key, table->entries, table->nr, sizeof(key), by_number) : NULL;
}

enum mask_form irq_entry_file(const struct irq_entry *entry, char *ret_path, size_t size)
{
	switch (entry->kind) {
	case IRQ_KIND_DEFAULT:
		snprintf(ret_path, size, "proc/irq/default_smp_affinity");
		return MASK_HEX;
	case IRQ_KIND_WORKQUEUES:
		snprintf(ret_path, size, "sys/devices/virtual/workqueue/cpumask");
		return MASK_HEX;
	default:
		snprintf(ret_path, size, "proc/irq/%u/smp_affinity_list", entry->number);
		return MASK_LIST;
	}
}

/* --- one mask ------------------------------------------------------------------------------------ */

/* The first line; "" if there is no such file. The caller owns *ret_line. */
static int read_line(int root_fd, const char *path, char **ret_line)
{
	char *line = NULL;
	int r = file_read_line(root_fd, path, &line);

	if (r == -ENOENT)
		line = strdup("");
	else if (r)
		return r;
	if (!line)
		return -ENOMEM;
	line[strcspn(line, "\n")] = '\0';
	*ret_line = line;
	return 0;
}

static int read_affinity(int root_fd, struct irq_entry *entry)
{
	char path[PATH_SIZE];
	const enum mask_form form = irq_entry_file(entry, path, sizeof(path));
	struct cpuset set;
	struct stat status;
	int r;

	r = mask_read(root_fd, path, form, &set);
	if (r)
		return r;
	entry->affinity = mask_text(MASK_LIST, &set);
	/* Newer kernels show by the mode that a mask cannot be changed. */
	if (!fstatat(root_fd, path, &status, AT_SYMLINK_NOFOLLOW))
		entry->is_fixed = !(status.st_mode & S_IWUSR);
	return entry->affinity ? 0 : -ENOMEM;
}

/* Which interrupt it is, and for whom. Kernels without these files have no such names. */
static int read_names(int root_fd, struct irq_entry *entry)
{
	char path[PATH_SIZE], *chip cleanup_free = NULL, *line cleanup_free = NULL;
	int len, r;

	snprintf(path, sizeof(path), "sys/kernel/irq/%u/chip_name", entry->number);
	r = read_line(root_fd, path, &chip);
	snprintf(path, sizeof(path), "sys/kernel/irq/%u/hwirq", entry->number);
	if (!r)
		r = read_line(root_fd, path, &line);
	snprintf(path, sizeof(path), "sys/kernel/irq/%u/actions", entry->number);
	if (!r)
		r = read_line(root_fd, path, &entry->name);
	if (r)
		return r;
	len = asprintf(&entry->identity, "%s %s", chip, line);
	if (len < 0)
		entry->identity = NULL;
	return len < 0 ? -ENOMEM : 0;
}

static int read_node(int root_fd, struct irq_entry *entry)
{
	char path[PATH_SIZE], *node cleanup_free = NULL;
	struct cpuset set = CPUSET_EMPTY;
	int r;

	snprintf(path, sizeof(path), "proc/irq/%u/node", entry->number);
	r = read_line(root_fd, path, &node);
	if (r)
		return r;
	if (isdigit((unsigned char)*node))
		entry->node_id = (int)strtol(node, NULL, 10);
	snprintf(path, sizeof(path), "proc/irq/%u/effective_affinity_list", entry->number);
	r = mask_read(root_fd, path, MASK_LIST, &set);
	if (r && r != -ENOENT)
		return r;
	/* Empty while the interrupt is shut down. */
	if (cpuset_is_empty(&set))
		return 0;
	entry->effective = mask_text(MASK_LIST, &set);
	return entry->effective ? 0 : -ENOMEM;
}

/*
 * A file that was open when its interrupt went away fails a read with EIO in procfs and ENODEV in
 * sysfs.
 */
static bool is_gone(int root_fd, uint32_t number)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "proc/irq/%u/smp_affinity_list", number);
	return faccessat(root_fd, path, F_OK, 0) && errno == ENOENT;
}

static int read_interrupt(int root_fd, uint32_t number, const struct irq_table *known,
			  struct irq_table *table)
{
	const struct irq_entry *before = find(known, IRQ_KIND_INTERRUPT, number);
	struct irq_entry *entry = irq_table_add(table, IRQ_KIND_INTERRUPT, number);
	int r;

	if (!entry)
		return -ENOMEM;
	r = read_affinity(root_fd, entry);
	if (!r)
		r = read_names(root_fd, entry);
	if (!r)
		r = read_node(root_fd, entry);
	if (r && r != -ENOMEM && is_gone(root_fd, number)) {
		free_entry(&table->entries[--table->nr]);
		return 0;
	}
	if (r)
		return r;
	if (!*entry->name && !(before && before->original))
		free_entry(&table->entries[--table->nr]);
	return 0;
}

/* --- all of them --------------------------------------------------------------------------------- */

static int read_interrupts(int root_fd, const struct irq_table *known, struct irq_table *table)
{
	DIR *dir cleanup_dir = NULL;
	const struct dirent *entry;
	int r = file_open_dir(root_fd, "proc/irq", &dir);

	if (r)
		return r;
	while ((r = file_next_entry(dir, &entry)) > 0) {
		char *end;
		unsigned long number = strtoul(entry->d_name, &end, 10);

		if (!isdigit((unsigned char)*entry->d_name) || *end || number > UINT32_MAX)
			continue;
		r = read_interrupt(root_fd, (uint32_t)number, known, table);
		if (r)
			return r;
	}
	return r;
}

/* A mask that this kernel does not have is left out. */
static int read_other(int root_fd, enum irq_kind kind, const char *name, struct irq_table *table)
{
	struct irq_entry *entry = irq_table_add(table, kind, 0);
	int r;

	if (!entry)
		return -ENOMEM;
	entry->identity = strdup("");
	entry->name = strdup(name);
	r = entry->identity && entry->name ? read_affinity(root_fd, entry) : -ENOMEM;
	if (r == -ENOENT) {
		free_entry(&table->entries[--table->nr]);
		return 0;
	}
	return r;
}

/* The CPU of each column, from the line "CPU0 CPU1 …". Returns their number. */
static uint32_t read_columns(const char **at, uint32_t *ret_cpus)
{
	const char *text = *at;
	uint32_t nr = 0;

	while (nr < CPUSET_MAX) {
		const char *word = text + strspn(text, " ");
		char *end;
		unsigned long cpu;

		if (strncmp(word, "CPU", 3) != 0 || !isdigit((unsigned char)word[3]))
			break;
		cpu = strtoul(word + 3, &end, 10);
		ret_cpus[nr++] = cpu < CPUSET_MAX ? (uint32_t)cpu : CPUSET_MAX;
		text = end;
	}
	*at = text;
	return nr;
}

/* Lines begin with "NUMBER:" and a count for each column; those with a word are not interrupts. */
static void count_line(const char *line, const uint32_t *cpus, uint32_t nr_cpus,
		       const struct cpuset *exclusive, const struct irq_table *table)
{
	struct irq_entry *entry;
	uint64_t count = 0;
	char *end;
	unsigned long number = strtoul(line, &end, 10);

	if (end == line || *end != ':' || number > UINT32_MAX)
		return;
	entry = find(table, IRQ_KIND_INTERRUPT, (uint32_t)number);
	if (!entry)
		return;
	line = end + 1;
	for (uint32_t i = 0; i < nr_cpus; i++) {
		uint64_t on_cpu = strtoull(line, &end, 10);

		if (end == line)
			return;
		line = end;
		if (cpuset_has(exclusive, cpus[i]))
			count += on_cpu;
	}
	entry->count = count;
}

static int count_all(int root_fd, const struct cpuset *exclusive, const struct irq_table *table)
{
	uint32_t *cpus cleanup_free = calloc(CPUSET_MAX, sizeof(*cpus));
	char *text cleanup_free = NULL;
	const char *at;
	uint32_t nr_cpus;
	size_t len;
	int r;

	if (!cpus)
		return -ENOMEM;
	r = file_read_all(root_fd, "proc/interrupts", INTERRUPTS_MAX, &text, &len);
	if (r)
		return r;
	at = text;
	nr_cpus = read_columns(&at, cpus);
	while ((at = strchr(at, '\n')))
		count_line(++at, cpus, nr_cpus, exclusive, table);
	return 0;
}

int irq_table_read(int root_fd, const struct cpuset *exclusive, const struct irq_table *known,
		   struct irq_table *ret_table)
{
	struct irq_table table cleanup_irq_table = {.exclusive = mask_text(MASK_LIST, exclusive)};
	int r = table.exclusive ? 0 : -ENOMEM;

	if (!r)
		r = read_other(root_fd, IRQ_KIND_DEFAULT, "new interrupts", &table);
	if (!r)
		r = read_other(root_fd, IRQ_KIND_WORKQUEUES, "unbound work of the kernel", &table);
	if (!r)
		r = read_interrupts(root_fd, known, &table);
	irq_table_sort(&table);
	if (!r)
		r = count_all(root_fd, exclusive, &table);
	if (r)
		return r;
	*ret_table = table;
	table = (struct irq_table){0};
	return 0;
}

/* --- from one pass to the next ------------------------------------------------------------------- */

void irq_table_inherit(struct irq_table *table, struct irq_table *old, uint64_t *ret_nr_fired)
{
	const bool same_cpus = old->exclusive && !strcmp(old->exclusive, table->exclusive);
	uint64_t nr_fired = 0;

	table->is_unsaved = old->is_unsaved;

	for (uint32_t i = 0; i < table->nr; i++) {
		struct irq_entry *entry = &table->entries[i];
		struct irq_entry *before = find(old, entry->kind, entry->number);

		if (!before || strcmp(before->identity, entry->identity))
			continue;
		entry->is_known = true;
		entry->original = TAKE_PTR(before->original);
		entry->written = TAKE_PTR(before->written);
		entry->refused = TAKE_PTR(before->refused);
		entry->error = before->error;
		entry->nr_reverts = before->nr_reverts;
		entry->contend_ns = before->contend_ns;
		entry->nr_fired = before->nr_fired;
		entry->is_foreign = before->is_foreign;
		if (!same_cpus || entry->count < before->count)
			continue;
		entry->nr_fired += entry->count - before->count;
		nr_fired += entry->count - before->count;
	}
	*ret_nr_fired = nr_fired;
}
