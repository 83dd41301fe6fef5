// SPDX-License-Identifier: Apache-2.0
// LIBS: irq format core lib
/* Telling irqbalance which CPUs to spare: what is asked, told, kept and told back, by a made-up one. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#include "irq_scene.h"
#include "lib/log.h"

#include <pinfold/names.h>

static struct {
	int fd;
	pthread_t thread;
	char setup[256]; /* the answer */
	char told[512];	 /* the last settings */
	unsigned int nr_told;
	bool has_credentials;
} balancer;

static void serve_one(int fd)
{
	char text[501] = "", control[CMSG_SPACE(sizeof(struct ucred))] = "";
	struct iovec io = {text, sizeof(text) - 1};
	struct msghdr message = {.msg_iov = &io,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	const struct cmsghdr *header;

	if (recvmsg(fd, &message, 0) <= 0)
		return;
	header = CMSG_FIRSTHDR(&message);
	balancer.has_credentials = header && header->cmsg_type == SCM_CREDENTIALS;
	if (!strcmp(text, "setup")) {
		assert_true(send(fd, balancer.setup, strlen(balancer.setup), MSG_NOSIGNAL) >= 0);
	} else {
		snprintf(balancer.told, sizeof(balancer.told), "%s", text);
		balancer.nr_told++;
	}
}

static void *serve(void *data)
{
	int fd;

	while ((fd = accept(balancer.fd, NULL, NULL)) >= 0) {
		serve_one(fd);
		close(fd);
	}
	return NULL;
}

/* The process of the test is irqbalance: the socket's peer must have its id. */
static void put_balancer(const char *start)
{
	char name[64], text[128];

	snprintf(name, sizeof(name), "proc/%d/comm", getpid());
	put(name, "irqbalance\n");
	snprintf(name, sizeof(name), "proc/%d/status", getpid());
	put(name, "Name:\tirqbalance\nUid:\t0\t0\t0\t0\n");
	snprintf(name, sizeof(name), "proc/%d/environ", getpid());
	put(name, "");
	snprintf(name, sizeof(name), "proc/%d/stat", getpid());
	snprintf(text, sizeof(text),
		 "%d (irqbalance) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %s 0 0 1\n", getpid(),
		 start);
	put(name, text);
}

static int set_up_balancer(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int on = 1;

	if (set_up(state))
		return -1;
	memset(&balancer, 0, sizeof(balancer));
	snprintf(balancer.setup, sizeof(balancer.setup), "SLEEP 10 BANNED 00000000,00000000");
	put("run/irqbalance/x", "");
	put_balancer("5000");
	snprintf(address.sun_path, sizeof(address.sun_path),
		 "/proc/self/fd/%d/../run/irqbalance/irqbalance%d.sock", state_fd, getpid());
	balancer.fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(balancer.fd, (struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(balancer.fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    listen(balancer.fd, 1))
		return -errno;
	return pthread_create(&balancer.thread, NULL, serve, NULL);
}

static void stop_balancer(void)
{
	shutdown(balancer.fd, SHUT_RDWR);
	pthread_join(balancer.thread, NULL);
	close(balancer.fd);
	balancer.fd = -1;
}

static int tear_down_balancer(void **state)
{
	if (balancer.fd >= 0)
		stop_balancer();
	return tear_down(state);
}

#define BALANCER_TEST(name) \
	cmocka_unit_test_setup_teardown(name, set_up_balancer, tear_down_balancer)

/* A message is one way, so the server may be behind the pass; a question is answered after it. */
static void expect_told(unsigned int nr, const char *text)
{
	for (int i = 0; i < 2000 && balancer.nr_told < nr; i++)
		usleep(1000);
	assert_int_equal(balancer.nr_told, nr);
	assert_string_equal(balancer.told, text);
}

static void now_spares(const char *mask)
{
	snprintf(balancer.setup, sizeof(balancer.setup),
		 "SLEEP 10 IRQ 24 LOAD 1 DIFF 2 CLASS 3 BANNED %s", mask);
}

static void it_is_told_and_told_back(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_at(irqs, IRQ_STEER, "4-7", 100);
	assert_int_equal(report.irqbalance, IRQBALANCE_SPARES);
	expect_told(1, "settings cpus 4-7");
	assert_true(balancer.has_credentials);
	now_spares("00000000,000000f0");
	pass_at(irqs, IRQ_STEER, "4-7", 110);
	expect_told(1, "settings cpus 4-7");
	pass_at(irqs, IRQ_STEER, "2-7", 120);
	expect_told(2, "settings cpus 2-7");
	pass_at(irqs, IRQ_STEER, "", 130);
	expect_told(3, "settings cpus NULL");
	pass_at(irqs, IRQ_STEER, "", 140);
	expect_told(3, "settings cpus NULL");
	irqs_close(irqs);
}

static void what_it_spared_before_comes_back(void **state)
{
	struct irqs *irqs = open_irqs();

	now_spares("00000000,00000100");
	pass_at(irqs, IRQ_STEER, "4-7", 100);
	expect_told(1, "settings cpus 4-8");
	irqs_close(irqs);
	/* The next agent knows it from the file, and tells it anew. */
	irqs = open_irqs();
	now_spares("00000000,000001f0");
	pass_at(irqs, IRQ_STEER, "4-7", 110);
	assert_int_equal(report.irqbalance, IRQBALANCE_SPARES);
	assert_int_equal(balancer.nr_told, 1);
	pass_at(irqs, IRQ_RESTORE, "4-7", 120);
	expect_told(2, "settings cpus 8");
	irqs_close(irqs);
}

static void one_that_spares_them_is_told_nothing(void **state)
{
	struct irqs *irqs = open_irqs();

	now_spares("00000000,000000ff");
	pass_at(irqs, IRQ_STEER, "4-7", 100);
	assert_int_equal(report.irqbalance, IRQBALANCE_SPARES);
	pass_at(irqs, IRQ_STEER, "", 110);
	assert_int_equal(balancer.nr_told, 0);
	irqs_close(irqs);
}

static void one_that_does_not_follow_contends(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_at(irqs, IRQ_STEER, "4-7", 100);
	pass_at(irqs, IRQ_STEER, "4-7", 129);
	assert_int_equal(report.irqbalance, IRQBALANCE_SPARES);
	pass_at(irqs, IRQ_STEER, "4-7", 130);
	assert_int_equal(report.irqbalance, IRQBALANCE_CONTENDS);
	assert_non_null(strstr(report.irqbalance_problem, "pinfold told it to spare them"));
	expect_told(2, "settings cpus 4-7");
	/* Told again, it is not believed before it shows the list. */
	pass_at(irqs, IRQ_STEER, "4-7", 140);
	assert_int_equal(report.irqbalance, IRQBALANCE_CONTENDS);
	assert_non_null(strstr(report.irqbalance_problem, "pinfold told it to spare them"));
	pass_at(irqs, IRQ_STEER, "2-7", 150);
	assert_int_equal(report.irqbalance, IRQBALANCE_CONTENDS);
	expect_told(3, "settings cpus 2-7");
	now_spares("00000000,000000fc");
	pass_at(irqs, IRQ_STEER, "2-7", 160);
	assert_int_equal(report.irqbalance, IRQBALANCE_SPARES);
	irqs_close(irqs);
}

static void another_process_with_its_id_was_not_told(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_at(irqs, IRQ_STEER, "4-7", 100);
	expect_told(1, "settings cpus 4-7");
	put_balancer("6000");
	pass_at(irqs, IRQ_STEER, "", 110);
	assert_int_equal(balancer.nr_told, 1);
	pass_at(irqs, IRQ_STEER, "4-7", 120);
	expect_told(2, "settings cpus 4-7");
	irqs_close(irqs);
}

static void only_steering_tells(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_at(irqs, IRQ_OBSERVE, "4-7", 100);
	assert_int_equal(report.irqbalance, IRQBALANCE_CONTENDS);
	pass_at(irqs, IRQ_RESTORE, "4-7", 110);
	assert_int_equal(balancer.nr_told, 0);
	irqs_close(irqs);
}

static void an_older_one_contends_with_the_reason(void **state)
{
	struct irqs *irqs = open_irqs();

	snprintf(balancer.setup, sizeof(balancer.setup), "what?");
	pass_at(irqs, IRQ_STEER, "4-7", 100);
	assert_int_equal(report.irqbalance, IRQBALANCE_CONTENDS);
	assert_non_null(strstr(report.irqbalance_problem, "its socket cannot be used (Protocol"));
	stop_balancer();
	pass_at(irqs, IRQ_STEER, "4-7", 110);
	assert_non_null(strstr(report.irqbalance_problem, "(Connection refused)"));
	assert_int_equal(balancer.nr_told, 0);
	irqs_close(irqs);
}

static void a_damaged_file_stops_nothing(void **state)
{
	struct irqs *irqs = open_irqs();

	put("state/" PINFOLD_IRQBALANCE_FILE, "{\"version\": 1");
	pass_at(irqs, IRQ_STEER, "4-7", 100);
	expect_told(1, "settings cpus 4-7");
	irqs_close(irqs);
}

static void an_uninstall_tells_it_back(void **state)
{
	const struct irqs_options options = {.root = root, .state_fd = state_fd, .boot_id = BOOT};
	struct irqs *irqs = open_irqs();

	pass_at(irqs, IRQ_STEER, "4-7", 100);
	expect_told(1, "settings cpus 4-7");
	irqs_close(irqs);
	assert_int_equal(irqs_restore(&options, topology), 0);
	expect_told(2, "settings cpus NULL");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		BALANCER_TEST(it_is_told_and_told_back),
		BALANCER_TEST(what_it_spared_before_comes_back),
		BALANCER_TEST(one_that_spares_them_is_told_nothing),
		BALANCER_TEST(one_that_does_not_follow_contends),
		BALANCER_TEST(another_process_with_its_id_was_not_told),
		BALANCER_TEST(only_steering_tells),
		BALANCER_TEST(an_older_one_contends_with_the_reason),
		BALANCER_TEST(a_damaged_file_stops_nothing),
		BALANCER_TEST(an_uninstall_tells_it_back),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
