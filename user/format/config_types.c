// SPDX-License-Identifier: Apache-2.0
/*
 * Types of values that our own fields have: words, switches, counts, paths,
 * addresses, durations.
 */
#include "format/config_private.h"

#include <pinfold/names.h>

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int read_word(struct config_reader *reader, const struct yaml_value *value,
		     const char *field, const struct key *key)
{
	/* All enums of struct config begin at 0, so their type is unsigned int. */
	return yaml_read_word(value, field, reader->error, key->words, key->max,
			      member_of(reader, key));
}

static void emit_word(struct emitter *emitter, const struct config *config, const struct key *key)
{
	const unsigned int *word = value_of(config, key);

	emit_text(emitter, key->name, key->words[*word]);
}

const struct key_type config_word = {read_word, emit_word};

/* --- plain types ------------------------------------------------------------------------------ */

static int read_flag(struct config_reader *reader, const struct yaml_value *value,
		     const char *field, const struct key *key)
{
	return yaml_read_bool(value, field, reader->error, member_of(reader, key));
}

static void emit_flag(struct emitter *emitter, const struct config *config, const struct key *key)
{
	const bool *flag = value_of(config, key);

	emit_bool(emitter, key->name, *flag);
}

const struct key_type config_flag = {read_flag, emit_flag};

static int read_count(struct config_reader *reader, const struct yaml_value *value,
		      const char *field, const struct key *key)
{
	uint32_t *count = member_of(reader, key);
	uint64_t number;
	int err = yaml_read_uint(value, field, reader->error, 1, key->max, &number);

	if (!err)
		*count = number;
	return err;
}

static void emit_count(struct emitter *emitter, const struct config *config, const struct key *key)
{
	const uint32_t *count = value_of(config, key);

	emit_number(emitter, key->name, *count);
}

const struct key_type config_count = {read_count, emit_count};

static bool has_dot_dot(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
			return true;
	return false;
}

/* An absolute path; "" only where the table says that it switches something off. */
static int read_path(struct config_reader *reader, const struct yaml_value *value,
		     const char *field, const struct key *key, bool may_be_empty)
{
	char path[CONFIG_PATH_MAX], shown[FORMAT_SHOW_MAX];
	int err = yaml_read_text(value, field, reader->error, path, key->max);

	if (err)
		return err;
	if ((path[0] != '/' || has_dot_dot(path)) && !(may_be_empty && !path[0]))
		return yaml_refuse(value, field, reader->error,
				   "invalid path '%s': expected an absolute path without \"..\"",
				   format_show(path, strlen(path), shown, sizeof(shown)));
	memcpy(member_of(reader, key), path, strlen(path) + 1);
	return 0;
}

static int read_directory(struct config_reader *reader, const struct yaml_value *value,
			  const char *field, const struct key *key)
{
	return read_path(reader, value, field, key, false);
}

static int read_optional_path(struct config_reader *reader, const struct yaml_value *value,
			      const char *field, const struct key *key)
{
	return read_path(reader, value, field, key, true);
}

static void emit_string(struct emitter *emitter, const struct config *config, const struct key *key)
{
	emit_text(emitter, key->name, value_of(config, key));
}

const struct key_type config_directory = {read_directory, emit_string};
const struct key_type config_optional_path = {read_optional_path, emit_string};

/* --- lists of cgroups ------------------------------------------------------------------------- */

/* Not even an empty name. */
static bool is_plain_name(const char *name, size_t len)
{
	return len && !(len == 1 && name[0] == '.') && !(len == 2 && !memcmp(name, "..", 2));
}

/*
 * What keeps the cgroup from being an actor of the guard, and what to write instead; NULL = nothing.
 * The limits are those of the kernel side.
 */
static const char *find_fault(const char *path)
{
	static const char form[] = "expected a path from the root of the cgroups, such as "
				   "/system.slice/debug.service, without \".\", \"..\" and "
				   "empty names";
	uint32_t depth = 0;
	size_t len = 0;

	if (*path != '/')
		return form;
	while (*path == '/') {
		len = strcspn(++path, "/");
		if (!is_plain_name(path, len))
			return form;
		path += len;
		depth++;
	}
	if (len >= ACTOR_NAME_MAX)
		return "its name has more than 63 bytes; name a cgroup above it";
	if (depth >= MANAGED_LEVELS_MAX)
		return "it is deeper than 31 levels; name a cgroup above it";
	return NULL;
}

static int read_cgroup(struct config_reader *reader, const struct yaml_value *value,
		       const char *field, char *ret_path)
{
	char path[CONFIG_PATH_MAX], shown[FORMAT_SHOW_MAX];
	int err = yaml_read_text(value, field, reader->error, path, sizeof(path));
	const char *fault;

	if (err)
		return err;
	fault = find_fault(path);
	if (!fault && !strcmp(path, "/" PINFOLD_WORKLOAD_ROOT))
		fault = "the containers are below it, so each container could attach to all "
			"others; name a cgroup outside";
	if (fault)
		return yaml_refuse(value, field, reader->error, "invalid cgroup '%s': %s",
				   format_show(path, strlen(path), shown, sizeof(shown)), fault);
	memcpy(ret_path, path, strlen(path) + 1);
	return 0;
}

static int read_cgroups(struct config_reader *reader, const struct yaml_value *value,
			const char *field, const struct key *key)
{
	struct cgroup_list *list = member_of(reader, key);
	char child_field[FORMAT_FIELD_MAX];
	int err = yaml_read_list(value, field, reader->error);

	if (err)
		return err;
	*list = (struct cgroup_list){0};
	yaml_for_each(child, value)
	{
		if (list->nr == CONFIG_DEBUGGERS_MAX)
			return yaml_refuse(child, field, reader->error,
					   "more than %d cgroups; name one above several of them",
					   CONFIG_DEBUGGERS_MAX);
		format_field(child_field, "%s[%u]", field, list->nr);
		err = read_cgroup(reader, child, child_field, list->paths[list->nr]);
		if (err)
			return err;
		list->nr++;
	}
	return 0;
}

static void emit_cgroups(struct emitter *emitter, const struct config *config,
			 const struct key *key)
{
	const struct cgroup_list *list = value_of(config, key);

	emit_list(emitter, key->name);
	for (uint32_t i = 0; i < list->nr; i++)
		emit_text(emitter, NULL, list->paths[i]);
	emit_close(emitter);
}

const struct key_type config_cgroups = {read_cgroups, emit_cgroups};

/* --- addresses -------------------------------------------------------------------------------- */

/* "127.0.0.1:9417", "[::1]:9417": numbers only, a name could mean another address tomorrow. */
static bool is_listen_address(const char *text)
{
	const char *colon = strrchr(text, ':');
	char host[CONFIG_LISTEN_MAX];
	unsigned char address[16];
	size_t len;
	unsigned long port = 0;

	if (!colon || colon == text || !colon[1] || strlen(colon + 1) > 5)
		return false;
	for (const char *digit = colon + 1; *digit; digit++) {
		if (*digit < '0' || *digit > '9')
			return false;
		port = port * 10 + (*digit - '0');
	}
	if (port == 0 || port > 65535)
		return false;
	len = colon - text;
	memcpy(host, text, len);
	host[len] = '\0';
	if (host[0] != '[')
		return inet_pton(AF_INET, host, address) == 1;
	if (host[len - 1] != ']')
		return false;
	host[len - 1] = '\0';
	return inet_pton(AF_INET6, host + 1, address) == 1;
}

static int read_listen(struct config_reader *reader, const struct yaml_value *value,
		       const char *field, const struct key *key)
{
	char listen[CONFIG_LISTEN_MAX], shown[FORMAT_SHOW_MAX];
	int err = yaml_read_text(value, field, reader->error, listen, sizeof(listen));

	if (err)
		return err;
	if (*listen && !is_listen_address(listen))
		return yaml_refuse(value, field, reader->error,
				   "invalid address '%s': expected ADDRESS:PORT, such as "
				   "127.0.0.1:9417 or [::1]:9417, or \"\" for none",
				   format_show(listen, strlen(listen), shown, sizeof(shown)));
	memcpy(member_of(reader, key), listen, strlen(listen) + 1);
	return 0;
}

const struct key_type config_listen = {read_listen, emit_string};

/* --- durations -------------------------------------------------------------------------------- */

static const struct {
	const char *unit;
	uint64_t ns;
} units[] = {
	{"h", 3600000000000ULL}, {"ms", 1000000}, {"m", 60000000000ULL},
	{"s", 1000000000},	 {"us", 1000},	  {"ns", 1},
};

#define LONGEST_DURATION_NS (365ULL * 24 * 3600000000000ULL)

/* Go's form with whole numbers: "90s", "1h30m", and "0". */
static bool parse_duration(const char *text, uint64_t *ret_ns)
{
	uint64_t total = 0;

	if (strcmp(text, "0") == 0) {
		*ret_ns = 0;
		return true;
	}
	if (!*text)
		return false;
	while (*text) {
		uint64_t number = 0;
		size_t unit = 0;

		if (*text < '0' || *text > '9')
			return false;
		for (; *text >= '0' && *text <= '9' && number <= LONGEST_DURATION_NS; text++)
			number = number * 10 + (*text - '0');
		while (unit < ARRAY_SIZE(units) &&
		       strncmp(text, units[unit].unit, strlen(units[unit].unit)) != 0)
			unit++;
		if (unit == ARRAY_SIZE(units) || number > LONGEST_DURATION_NS / units[unit].ns)
			return false;
		total += number * units[unit].ns;
		text += strlen(units[unit].unit);
		if (total > LONGEST_DURATION_NS)
			return false;
	}
	*ret_ns = total;
	return true;
}

static int read_duration(struct config_reader *reader, const struct yaml_value *value,
			 const char *field, const struct key *key)
{
	char text[32], shown[FORMAT_SHOW_MAX];
	int err = yaml_read_text(value, field, reader->error, text, sizeof(text));

	if (err)
		return err;
	if (parse_duration(text, member_of(reader, key)))
		return 0;
	return yaml_refuse(value, field, reader->error,
			   "invalid duration '%s': expected at most a year, written as 0, 90s, "
			   "5m or 1h30m",
			   format_show(text, strlen(text), shown, sizeof(shown)));
}

static void emit_duration(struct emitter *emitter, const struct config *config,
			  const struct key *key)
{
	const uint64_t *ns = value_of(config, key);
	char text[32] = "0";
	size_t best = 0;

	/* The coarsest unit that says it exactly. */
	for (size_t i = 0; *ns && i < ARRAY_SIZE(units); i++)
		if (*ns % units[i].ns == 0 &&
		    (*ns % units[best].ns != 0 || units[i].ns > units[best].ns))
			best = i;
	if (*ns)
		snprintf(text, sizeof(text), "%" PRIu64 "%s", *ns / units[best].ns,
			 units[best].unit);
	emit_text(emitter, key->name, text);
}

const struct key_type config_duration = {read_duration, emit_duration};
