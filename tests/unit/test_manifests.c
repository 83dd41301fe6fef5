// SPDX-License-Identifier: Apache-2.0
// LIBS: source format core lib
/*
 * The manifests directory: what is trusted, what is kept while files change or
 * break, and that every report is the whole truth.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/manifest.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/text.h"
#include "lib/worker.h"
#include "source/entry.h"
#include "source/manifests.h"

/* What the sink was told last, as lines "file:line name" or "file:line name ! error". */
struct told {
	struct text text;
	uint32_t nr_reports, nr_pods;
	bool complete;
};

static struct told told;
static struct source_sink sink;
static struct manifests *manifests;
static sd_event *event;
static struct worker_pool *pool; /* NULL unless a test makes one */
static char directory[64];

/* Opening the file of this name waits, as on a disk that does not answer; NULL = none. */
static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hold_changed = PTHREAD_COND_INITIALIZER;
static const char *held_name;
static unsigned int nr_waits, nr_told_waiting, nr_told_over;

int openat(int fd, const char *path, int flags, ...)
{
	typeof(&openat) libc_openat = (typeof(&openat))dlsym(RTLD_NEXT, "openat");
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	pthread_mutex_lock(&hold_lock);
	nr_waits += held_name && !strcmp(path, held_name);
	while (held_name && !strcmp(path, held_name))
		pthread_cond_wait(&hold_changed, &hold_lock);
	pthread_mutex_unlock(&hold_lock);
	return libc_openat(fd, path, flags, mode);
}

static void hold(const char *name)
{
	pthread_mutex_lock(&hold_lock);
	held_name = name;
	pthread_cond_broadcast(&hold_changed);
	pthread_mutex_unlock(&hold_lock);
}

static void note_waiting(void *self, bool is_waiting)
{
	nr_told_waiting += is_waiting;
	nr_told_over += !is_waiting;
}

static void note(void *self, const struct source_pod *pods, uint32_t nr_pods, bool complete)
{
	text_fini(&told.text);
	told.nr_reports++;
	told.nr_pods = nr_pods;
	told.complete = complete;
	text_append(&told.text, "");
	for (uint32_t i = 0; i < nr_pods; i++)
		text_printf(&told.text, "%s:%u %s%s%s\n", pods[i].file, pods[i].line, pods[i].name,
			    pods[i].spec ? "" : " ! ", pods[i].spec ? "" : pods[i].error);
}

static void path_of(const char *name, char *ret_path, size_t size)
{
	snprintf(ret_path, size, "%s/%s", directory, name);
}

/* Write in place, as an editor without manners does. */
static int open_for_writing(const char *name)
{
	char path[256];
	int fd;

	path_of(name, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	return fd;
}

static void put(const char *name, const char *text)
{
	int fd = open_for_writing(name);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

#define POD(name) \
	"{apiVersion: v1, kind: Pod, metadata: {name: " name "}, spec: {containers: [{name: c}]}}\n"

static void drop(const char *name)
{
	char path[256];

	path_of(name, path, sizeof(path));
	unlink(path);
	rmdir(path);
}

static int set_up(void **state)
{
	memset(&told, 0, sizeof(told));
	log_open("test", LOG_LEVEL_ERR);
	strcpy(directory, "/tmp/pinfold-manifests-XXXXXX");
	assert_non_null(mkdtemp(directory));
	sink = (struct source_sink){.scanned = note, .waiting = note_waiting};
	assert_true(sd_event_new(&event) >= 0);
	return manifests_new(event, pool, directory, &sink, &manifests);
}

static int tear_down(void **state)
{
	static const char *const names[] = {"a.yaml", "b.yaml", "c.yaml", "link",  "fifo",
					    "sub",    ".x",	"y~",	  "z.tmp", "new"};

	manifests_free(manifests);
	sd_event_unref(event);
	text_fini(&told.text);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		drop(names[i]);
	return rmdir(directory);
}

static void scan(void)
{
	uint32_t before = told.nr_reports;

	assert_int_equal(manifests_scan(manifests), 0);
	assert_int_equal(told.nr_reports, before + 1);
}

/* Run the loop until a report arrives or nothing has happened for `usec`. */
static bool wait_report(uint64_t usec)
{
	uint32_t before = told.nr_reports;

	while (told.nr_reports == before)
		if (sd_event_run(event, usec) <= 0)
			return false;
	return true;
}

#define assert_told(expected) assert_string_equal(told.text.data, expected)

static void whole_truth(void **state)
{
	scan();
	assert_true(told.complete);
	assert_told("");
	put("b.yaml", POD("two") "---\n" POD("three"));
	put("a.yaml", POD("one"));
	scan();
	assert_true(told.complete);
	assert_told("a.yaml:1 default/one\nb.yaml:1 default/two\nb.yaml:3 default/three\n");
	drop("b.yaml");
	scan();
	assert_told("a.yaml:1 default/one\n");
}

static void ignored_names(void **state)
{
	char path[256];

	put(".x", POD("a"));
	put("y~", POD("b"));
	put("z.tmp", POD("c"));
	path_of("sub", path, sizeof(path));
	assert_int_equal(mkdir(path, 0755), 0);
	scan();
	assert_true(told.complete);
	assert_told("");
}

static void one_bad_document(void **state)
{
	put("a.yaml", POD("one") "---\n" POD("Two") "---\n" POD("three"));
	scan();
	assert_int_equal(told.nr_pods, 3);
	assert_non_null(strstr(told.text.data, "a.yaml:1 default/one\n"));
	assert_non_null(strstr(told.text.data, "a.yaml:3  ! line 3:46: metadata.name: 'Two'"));
	assert_non_null(strstr(told.text.data, "a.yaml:5 default/three\n"));
}

static void files_that_are_not_trusted(void **state)
{
	char path[256], target[256];

	put("a.yaml", POD("one"));
	path_of("a.yaml", target, sizeof(target));
	path_of("link", path, sizeof(path));
	assert_int_equal(symlink(target, path), 0);
	path_of("fifo", path, sizeof(path));
	assert_int_equal(mkfifo(path, 0600), 0);
	put("b.yaml", POD("two"));
	path_of("b.yaml", path, sizeof(path));
	assert_int_equal(chmod(path, 0666), 0);
	scan();
	assert_told("a.yaml:1 default/one\n"
		    "b.yaml:1  ! the file is writable by others than its owner; chmod it go-w\n"
		    "fifo:1  ! the file is not a regular file; put the document itself here\n"
		    "link:1  ! the file is a symbolic link; put the document itself here\n");
	assert_int_equal(chmod(path, 0644), 0);
	scan();
	assert_non_null(strstr(told.text.data, "b.yaml:1 default/two\n"));
}

static void a_directory_that_is_not_trusted(void **state)
{
	put("a.yaml", POD("one"));
	scan();
	assert_int_equal(chmod(directory, 0777), 0);
	put("b.yaml", POD("planted"));
	scan();
	/* What was known stays, what anybody could have put there does not come. */
	assert_false(told.complete);
	assert_told("a.yaml:1 default/one\n");
	assert_int_equal(chmod(directory, 0755), 0);
	scan();
	assert_true(told.complete);
	assert_int_equal(told.nr_pods, 2);
}

static void a_missing_directory(void **state)
{
	struct manifests *other cleanup_manifests = NULL;

	assert_int_equal(manifests_new(NULL, NULL, "/no/such/pods.d", &sink, &other), 0);
	assert_int_equal(manifests_scan(other), 0);
	assert_int_equal(told.nr_pods, 0);
	assert_false(told.complete);
}

static void the_same_pod_twice(void **state)
{
	put("b.yaml", POD("one"));
	scan();
	/* The older one stands, whatever the names of the files. */
	put("a.yaml", POD("zero") "---\n" POD("one"));
	scan();
	assert_told(
		"a.yaml:1 default/zero\n"
		"a.yaml:3 default/one ! pod default/one appears in b.yaml (line 1) and in a.yaml "
		"(line 3); the older one, in b.yaml, is used; remove one of them\n"
		"b.yaml:1 default/one\n");
	drop("b.yaml");
	scan();
	assert_told("a.yaml:1 default/zero\na.yaml:3 default/one\n");
}

/* As many pods as are looked at, 64 in a file, then one more whose file sorts first. */
static void a_flood_moves_no_pod(void **state)
{
	const unsigned int per_file = MANIFEST_MAX_DOCUMENTS;
	char name[32];

	for (unsigned int i = 0; i < MANIFESTS_MAX_PODS / per_file; i++) {
		struct text text cleanup_text = {0};

		for (unsigned int j = 0; j < per_file; j++)
			text_printf(&text,
				    "---\n{apiVersion: v1, kind: Pod, metadata: {name: p-%u-%u}"
				    ", spec: {containers: [{name: c}]}}\n",
				    i, j);
		snprintf(name, sizeof(name), "m%02u.yaml", i);
		put(name, text.data);
	}
	scan();
	assert_int_equal(told.nr_pods, MANIFESTS_MAX_PODS);
	assert_null(strstr(told.text.data, " ! "));
	put("a.yaml", POD("late"));
	scan();
	assert_int_equal(told.nr_pods, MANIFESTS_MAX_PODS + 1);
	assert_non_null(strstr(told.text.data, "a.yaml:1 default/late ! more than 4096 pods"));
	/* of the others none is refused */
	assert_null(strstr(strstr(told.text.data, " ! ") + 3, " ! "));
	for (unsigned int i = 0; i < MANIFESTS_MAX_PODS / per_file; i++) {
		snprintf(name, sizeof(name), "m%02u.yaml", i);
		drop(name);
	}
}

static void the_same_uid_twice(void **state)
{
	put("a.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: one, uid: u}, spec: "
		      "{containers: [{name: c}]}}\n");
	scan();
	put("b.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: two, uid: u}, spec: "
		      "{containers: [{name: c}]}}\n");
	scan();
	assert_non_null(strstr(told.text.data, "b.yaml:1 default/two ! uid u appears in a.yaml"));
	assert_non_null(strstr(told.text.data, "a.yaml:1 default/one\n"));
}

static void a_broken_file_ends_no_pod(void **state)
{
	put("a.yaml", POD("one") "---\n" POD("two"));
	scan();
	put("a.yaml", POD("one") "---\n{apiVersion: v1, kind: Pod, metadata: {name: two\n");
	scan();
	assert_int_equal(told.nr_pods, 3);
	assert_non_null(strstr(told.text.data, "a.yaml:1 default/one\n"));
	assert_non_null(strstr(told.text.data, "! line 4:1: not YAML"));
	assert_non_null(strstr(told.text.data, "a.yaml:3 default/two\n"));
	/* Still so after a second look, and after another slip. */
	put("a.yaml", POD("one") "---\n{apiVersion: v1, kind: Pod, metadata: {name: twice\n");
	scan();
	assert_int_equal(told.nr_pods, 3);
	/* A document whose name can be read speaks for itself. */
	put("a.yaml", POD("one") "---\n{apiVersion: v1, kind: Pod, metadata: {name: two}}\n");
	scan();
	assert_told(
		"a.yaml:1 default/one\n"
		"a.yaml:3 default/two ! line 3:1: spec: this field is missing; a Pod needs it\n");
	put("a.yaml", POD("one"));
	scan();
	assert_told("a.yaml:1 default/one\n");
}

static void changes_are_noticed(void **state)
{
	char from[256], to[256];

	scan();
	put("a.yaml", POD("one"));
	assert_true(wait_report(2000000));
	assert_told("a.yaml:1 default/one\n");
	put("a.yaml", POD("two"));
	assert_true(wait_report(2000000));
	assert_told("a.yaml:1 default/two\n");
	put("z.tmp", POD("ten"));
	path_of("z.tmp", from, sizeof(from));
	path_of("a.yaml", to, sizeof(to));
	assert_int_equal(rename(from, to), 0);
	assert_true(wait_report(2000000));
	assert_told("a.yaml:1 default/ten\n");
	drop("a.yaml");
	assert_true(wait_report(2000000));
	assert_told("");
	/* Nothing happened: nothing is told. */
	put("z.tmp", POD("ten"));
	assert_false(wait_report(300000));
}

/*
 * Two versions of one length within a tick of the file system's clock look the
 * same to stat; then the event alone tells.
 */
static void a_change_within_one_tick(void **state)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum entry_result result;
	struct stat status;
	uint64_t clock = 0;

	assert_non_null(entry);
	entry->name = strdup("a.yaml");
	put("a.yaml", POD("one"));
	assert_int_equal(entry_refresh(entry, fd, &clock, &result), 0);
	assert_int_equal(result, ENTRY_CHANGED);
	put("a.yaml", POD("two"));
	assert_int_equal(fstatat(fd, "a.yaml", &status, 0), 0);
	entry->identity.modified = status.st_mtim;
	entry->identity.changed = status.st_ctim;
	assert_int_equal(entry_refresh(entry, fd, &clock, &result), 0);
	assert_int_equal(result, ENTRY_SAME);
	entry->stale = true;
	assert_int_equal(entry_refresh(entry, fd, &clock, &result), 0);
	assert_int_equal(result, ENTRY_CHANGED);
	assert_string_equal(entry->manifest.documents[0].name, "default/two");
	assert_false(entry->stale);
	close(fd);
	entry_free(entry);
}

static void half_a_file_is_not_read(void **state)
{
	const char *text = POD("one");
	int fd;

	put("a.yaml", text);
	scan();
	fd = open_for_writing("a.yaml");
	put("b.yaml", POD("two"));
	assert_true(wait_report(2000000));
	/* a.yaml is empty at this moment, and open. */
	assert_told("a.yaml:1 default/one\nb.yaml:1 default/two\n");
	assert_true(told.complete);
	assert_int_equal(write(fd, text, strlen(text) - 20), strlen(text) - 20);
	scan();
	assert_int_equal(told.nr_pods, 2);
	assert_int_equal(write(fd, text + strlen(text) - 20, 20), 20);
	close(fd);
	scan();
	assert_told("a.yaml:1 default/one\nb.yaml:1 default/two\n");
}

/* A file never read before, being written: nobody can say that its pods are gone. */
static void a_new_half_file_makes_the_report_incomplete(void **state)
{
	const char *text = POD("one");
	int fd;

	scan();
	fd = open_for_writing("c.yaml");
	assert_int_equal(write(fd, text, 10), 10);
	/* lets the loop see the event */
	assert_false(wait_report(100000));
	scan();
	assert_false(told.complete);
	assert_told("");
	assert_int_equal(write(fd, text + 10, strlen(text) - 10), strlen(text) - 10);
	close(fd);
	assert_true(wait_report(2000000));
	assert_true(told.complete);
	assert_told("c.yaml:1 default/one\n");
}

static void a_directory_put_in_its_place(void **state)
{
	char other[256], moved[128];

	put("a.yaml", POD("one"));
	scan();
	snprintf(moved, sizeof(moved), "%s.old", directory);
	snprintf(other, sizeof(other), "%s.new", directory);
	assert_int_equal(mkdir(other, 0755), 0);
	assert_int_equal(rename(directory, moved), 0);
	assert_int_equal(rename(other, directory), 0);
	put("b.yaml", POD("two"));
	assert_true(wait_report(2000000));
	assert_told("b.yaml:1 default/two\n");
	/* and the new one is watched */
	put("c.yaml", POD("three"));
	assert_true(wait_report(2000000));
	assert_told("b.yaml:1 default/two\nc.yaml:1 default/three\n");
	snprintf(other, sizeof(other), "%s/a.yaml", moved);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(rmdir(moved), 0);
}

static void too_large_a_file(void **state)
{
	int fd = open_for_writing("a.yaml");

	assert_int_equal(ftruncate(fd, MANIFEST_MAX_BYTES + 1), 0);
	close(fd);
	scan();
	assert_told("a.yaml:1  ! the file is larger than 1 MiB; split it\n");
}

/* What cannot even be opened is a refusal too, and makes no report incomplete. */
static void sockets_and_devices(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char path[256];
	bool has_device;

	put("b.yaml", POD("two"));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/a.yaml", directory);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	/* A number that no driver has. Not every sandbox lets root make one. */
	path_of("c.yaml", path, sizeof(path));
	has_device = !mknod(path, S_IFCHR | 0600, makedev(511, 4095));
	scan();
	assert_true(told.complete);
	assert_int_equal(told.nr_pods, has_device ? 3 : 2);
	assert_non_null(strstr(told.text.data, "a.yaml:1  ! the file is a device or a socket, not "
					       "a document; remove it\n"));
	assert_non_null(strstr(told.text.data, "b.yaml:1 default/two\n"));
	if (has_device)
		assert_non_null(strstr(told.text.data, "c.yaml:1  ! the file is "));
	drop("a.yaml");
	put("a.yaml", POD("one"));
	scan();
	assert_non_null(strstr(told.text.data, "a.yaml:1 default/one\n"));
}

static int on_pool(sd_event_source *source, int fd, uint32_t events, void *data)
{
	worker_pool_dispatch(pool);
	return 0;
}

/* Should the loop wait for the disk, the tests below would never end. */
static int set_up_slow(void **state)
{
	nr_waits = nr_told_waiting = nr_told_over = 0;
	assert_int_equal(worker_pool_new(2, &pool), 0);
	worker_pool_set_grace(pool, 5000000000);
	alarm(20);
	if (set_up(state))
		return -1;
	put("a.yaml", POD("one"));
	scan();
	worker_pool_set_grace(pool, 20000000);
	return sd_event_add_io(event, NULL, worker_pool_fd(pool), EPOLLIN, on_pool, NULL) < 0;
}

static int tear_down_slow(void **state)
{
	int r;

	hold(NULL);
	assert_int_equal(worker_pool_free(pool), 0);
	r = tear_down(state);
	pool = NULL;
	alarm(0);
	return r;
}

static void a_slow_disk_stops_no_loop(void **state)
{
	hold("a.yaml");
	put("b.yaml", POD("two"));
	assert_int_equal(manifests_scan(manifests), 0);
	/* The loop goes on; nothing is told that is not known. */
	assert_false(wait_report(300000));
	assert_told("a.yaml:1 default/one\n");
	assert_int_equal(nr_told_waiting, 1);
	assert_int_equal(nr_told_over, 0);
	hold(NULL);
	assert_true(wait_report(2000000));
	assert_told("a.yaml:1 default/one\nb.yaml:1 default/two\n");
	assert_true(told.complete);
	while (!nr_told_over)
		assert_true(sd_event_run(event, 2000000) > 0);
	assert_int_equal(nr_told_waiting, 1);
}

/* However many are asked for while one waits, one follows, and it is told in any case. */
static void one_scan_follows_the_slow_one(void **state)
{
	uint32_t before = told.nr_reports;

	hold("a.yaml");
	for (int i = 0; i < 5; i++)
		assert_int_equal(manifests_scan(manifests), 0);
	assert_int_equal(told.nr_reports, before);
	hold(NULL);
	while (wait_report(500000))
		continue;
	assert_int_equal(told.nr_reports, before + 2);
	assert_int_equal(nr_waits, 1);
	assert_told("a.yaml:1 default/one\n");
}

/* What is written while a scan waits is not read by half, and not missed when it is closed. */
static void a_file_written_during_a_slow_scan(void **state)
{
	const char *text = POD("two");
	int fd;

	hold("a.yaml");
	assert_int_equal(manifests_scan(manifests), 0);
	fd = open_for_writing("b.yaml");
	assert_int_equal(write(fd, text, 10), 10);
	/* lets the loop see the events */
	assert_false(wait_report(300000));
	assert_int_equal(manifests_scan(manifests), 0);
	hold(NULL);
	while (wait_report(500000))
		continue;
	assert_told("a.yaml:1 default/one\n");
	assert_false(told.complete);
	assert_int_equal(write(fd, text + 10, strlen(text) - 10), strlen(text) - 10);
	close(fd);
	assert_true(wait_report(2000000));
	assert_told("a.yaml:1 default/one\nb.yaml:1 default/two\n");
	assert_true(told.complete);
}

/* As the agent ends: what waits keeps its thread, and is freed by it. */
static void the_end_during_a_slow_scan(void **state)
{
	struct worker_pool *other;

	hold("a.yaml");
	assert_int_equal(manifests_scan(manifests), 0);
	other = pool;
	assert_int_equal(worker_pool_new(1, &pool), 0);
	assert_int_equal(worker_pool_free(other), 1);
	hold(NULL);
	/* The thread needs the directory's name until it is through. */
	usleep(300000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(whole_truth),
		TEST(ignored_names),
		TEST(one_bad_document),
		TEST(files_that_are_not_trusted),
		TEST(a_directory_that_is_not_trusted),
		TEST(a_missing_directory),
		TEST(the_same_pod_twice),
		TEST(the_same_uid_twice),
		TEST(a_flood_moves_no_pod),
		TEST(a_broken_file_ends_no_pod),
		TEST(changes_are_noticed),
		TEST(a_change_within_one_tick),
		TEST(half_a_file_is_not_read),
		TEST(a_new_half_file_makes_the_report_incomplete),
		TEST(a_directory_put_in_its_place),
		TEST(too_large_a_file),
		TEST(sockets_and_devices),
#define SLOW(name) cmocka_unit_test_setup_teardown(name, set_up_slow, tear_down_slow)
		SLOW(a_slow_disk_stops_no_loop),
		SLOW(one_scan_follows_the_slow_one),
		SLOW(a_file_written_during_a_slow_scan),
		SLOW(the_end_during_a_slow_scan),
	};

	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
