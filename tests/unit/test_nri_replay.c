// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/*
 * The recorded sessions of two versions of containerd: fed with what the runtime sent, a
 * session that gives the recorded plugin's answers sends the recorded plugin's bytes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/text.h"
#include "nri/session.h"

#include "../lib/nri_recording.h"

#define NOW 1000000000ULL

/* What the recorded plugin of a session answered. */
struct script {
	char session;
	const char *name, *index;
	uint32_t events;
	const char *synchronized_cpus;
	struct nri_adjustment creation;
	const char *refusal;
	const char *updated_cpus;
	int error;	  /* at the end, with the end of the input */
	const char *text; /* of that error */
};

struct player {
	const struct script *script;
	struct nri_session *session;
	struct text log;
	char container[80]; /* the last one that was created */
	unsigned int nr_updates;
};

#define AT_END "the runtime closed the connection"

static char padding[20001];
static const struct nri_pair padding_pair = {"probe.pad", padding};

static const struct script scripts[] = {
	{'A', "probe", "10", 0, NULL, {"2-3", "0", {0}}, NULL, NULL, -ECONNRESET, AT_END},
	{'B', "probeb", "20", 0, "6-7", {"", "", {0}}, NULL, NULL, -ECONNRESET, AT_END},
	{'C',
	 "probe",
	 "5",
	 0,
	 NULL,
	 {"", "", {0}},
	 NULL,
	 NULL,
	 -EACCES,
	 "the runtime refused the registration: invalid plugin index: invalid plugin index \"5\", "
	 "must be 2 digits"},
	{'D',
	 "probe",
	 "10",
	 0x3fff,
	 NULL,
	 {"", "", {0}},
	 NULL,
	 NULL,
	 -ECONNRESET,
	 AT_END " before the plugin was synchronized"},
	{'E',
	 "probe",
	 "10",
	 0x208,
	 NULL,
	 {"", "", {0}},
	 "no cpus left for you",
	 NULL,
	 -ECONNRESET,
	 AT_END},
	{'F',
	 "probe",
	 "10",
	 0x88,
	 NULL,
	 {"3", "", {&padding_pair, 1}},
	 NULL,
	 "3",
	 -ECONNRESET,
	 AT_END},
	{'G', "probe", "10", 0x8, "1-2", {"", "", {0}}, NULL, NULL, -ECONNRESET, AT_END},
};

/* --- the plugin ---------------------------------------------------------------------------- */

static uint32_t configure(void *data, const struct nri_runtime *runtime)
{
	struct player *player = data;

	text_printf(&player->log, "configure %s %s nri='%s' %u/%u ms known=%#x\n", runtime->name,
		    runtime->version, runtime->nri_version, runtime->registration_timeout_ms,
		    runtime->request_timeout_ms, runtime->known_events);
	return player->script->events;
}

static void answer(struct player *player, uint32_t request, const struct nri_answer *given)
{
	assert_int_equal(nri_session_answer(player->session, request, given), 0);
	/* once only */
	assert_int_equal(nri_session_answer(player->session, request, given), -ENOENT);
}

static void synchronize(void *data, uint32_t request, const struct nri_snapshot *snapshot)
{
	struct player *player = data;
	struct nri_update *updates = calloc(snapshot->nr_containers + 1, sizeof(*updates));
	struct nri_answer given = {.updates = updates};

	assert_non_null(updates);
	text_printf(&player->log, "synchronize %zu pods, %zu containers\n", snapshot->nr_pods,
		    snapshot->nr_containers);
	for (size_t i = 0; player->script->synchronized_cpus && i < snapshot->nr_containers; i++)
		updates[given.nr_updates++] = (struct nri_update){
			snapshot->containers[i].id, player->script->synchronized_cpus, "", false};
	answer(player, request, &given);
	free(updates);
}

static const char *number(const struct nri_number *number, char *buffer, size_t size)
{
	snprintf(buffer, size, number->is_set ? "%lld" : "-", (long long)number->value);
	return buffer;
}

static void log_resources(struct text *log, const struct nri_resources *resources)
{
	char shares[32], quota[32], period[32], memory[32];

	text_printf(log, " shares=%s quota=%s/%s memory=%s cpus='%s' mems='%s'",
		    number(&resources->shares, shares, sizeof(shares)),
		    number(&resources->quota_us, quota, sizeof(quota)),
		    number(&resources->period_us, period, sizeof(period)),
		    number(&resources->memory_bytes, memory, sizeof(memory)), resources->cpus,
		    resources->mems);
}

static void log_subject(struct player *player, const char *what, const struct nri_pod *pod,
			const struct nri_container *container)
{
	text_printf(&player->log, "%s %s/%s", what, pod->namespace, pod->name);
	if (!container)
		return;
	assert_string_equal(container->pod_id, pod->id);
	text_printf(&player->log, " %s state=%d", container->name, container->state);
}

static void create_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container)
{
	struct player *player = data;
	struct nri_update itself = {container->id, "1", "", false};

	log_subject(player, "create", pod, container);
	log_resources(&player->log, &container->resources);
	text_append(&player->log, "\n");
	text_copy(player->container, sizeof(player->container), container->id);
	assert_int_equal(
		nri_session_answer(player->session, request,
				   &(struct nri_answer){.updates = &itself, .nr_updates = 1}),
		-EINVAL);
	answer(player, request,
	       &(struct nri_answer){.adjustment = *player->script->creation.cpus
							  ? &player->script->creation
							  : NULL,
				    .refusal = player->script->refusal});
}

static void update_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container,
			     const struct nri_resources *wanted)
{
	struct player *player = data;
	struct nri_update update = {container->id, player->script->updated_cpus, "", false};

	log_subject(player, "update", pod, container);
	log_resources(&player->log, wanted);
	text_append(&player->log, "\n");
	answer(player, request,
	       &(struct nri_answer){.updates = &update, .nr_updates = update.cpus != NULL});
}

static void stop_container(void *data, uint32_t request, const struct nri_pod *pod,
			   const struct nri_container *container)
{
	struct player *player = data;
	const struct nri_answer refused = {.refusal = "no"};

	log_subject(player, "stop", pod, container);
	text_append(&player->log, "\n");
	assert_int_equal(nri_session_answer(player->session, request, &refused), -EINVAL);
	answer(player, request, &(struct nri_answer){0});
}

static void container_event(void *data, enum nri_event event, const struct nri_pod *pod,
			    const struct nri_container *container)
{
	struct player *player = data;

	text_printf(&player->log, "event %d ", event);
	log_subject(player, "of", pod, container);
	text_append(&player->log, "\n");
}

static void pod_event(void *data, enum nri_event event, const struct nri_pod *pod)
{
	struct player *player = data;

	text_printf(&player->log, "event %d ", event);
	log_subject(player, "of", pod, NULL);
	if (event == NRI_EVENT_RUN_POD)
		log_resources(&player->log, &pod->resources);
	text_append(&player->log, "\n");
}

static void updated(void *data, int32_t code, const char *text)
{
	struct player *player = data;

	text_printf(&player->log, "updated: %d %s\n", code, text);
}

static const struct nri_callbacks callbacks = {
	.configure = configure,
	.synchronize = synchronize,
	.create_container = create_container,
	.update_container = update_container,
	.stop_container = stop_container,
	.container_event = container_event,
	.pod_event = pod_event,
	.updated = updated,
};

/* --- the recording ------------------------------------------------------------------------- */

/* Session A calls UpdateContainers three times. */
static void call_update(struct player *player)
{
	static const char *const cpus[] = {"5", "5", "99"};
	const unsigned int nr = player->nr_updates++;
	struct nri_update update = {nr == 1 ? "nosuchcontainer" : player->container, NULL, "",
				    false};

	assert_true(nr < 3);
	update.cpus = cpus[nr];
	assert_int_equal(nri_session_update(player->session, &update, 1, NOW), 0);
	assert_int_equal(nri_session_update(player->session, &update, 1, NOW), -EBUSY);
}

static void expect_frame(struct player *player, const struct recorded_frame *frame)
{
	const void *output;
	size_t len;

	output = nri_session_output(player->session, &len);
	if (!len) {
		call_update(player);
		output = nri_session_output(player->session, &len);
	}
	assert_true(len >= frame->len);
	assert_memory_equal(output, frame->data, frame->len);
	nri_session_sent(player->session, frame->len, NOW);
}

static void feed(struct player *player, const struct recorded_frame *frame, size_t piece)
{
	for (size_t at = 0; at < frame->len; at += piece)
		nri_session_receive(player->session, frame->data + at,
				    frame->len - at < piece ? frame->len - at : piece, NOW);
}

static void play(const char *runtime, const struct script *script, size_t piece,
		 struct player *player)
{
	const struct nri_options options = {script->name, script->index, "", .update_always = true};
	struct recording recording;
	const char *text;
	size_t len;

	*player = (struct player){.script = script};
	recording_read(runtime, script->session, &recording);
	assert_int_equal(nri_session_new(&options, &callbacks, player, NOW, &player->session), 0);
	for (size_t i = 0; i < recording.nr; i++) {
		if (recording.frames[i].by_runtime)
			feed(player, &recording.frames[i], piece);
		else
			expect_frame(player, &recording.frames[i]);
	}
	nri_session_output(player->session, &len);
	assert_int_equal(len, 0);
	assert_int_equal(nri_session_is_ready(player->session),
			 script->session != 'C' && script->session != 'D');
	assert_int_equal(nri_session_end_of_input(player->session), script->error);
	assert_int_equal(nri_session_error(player->session, &text), script->error);
	assert_string_equal(text, script->text);
	nri_session_free(player->session);
	recording_free(&recording);
}

static void sessions_send_what_was_recorded(void **state)
{
	static const size_t pieces[] = {SIZE_MAX / 2, 1, 7, 4096};

	for (size_t i = 0; i < 2; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(scripts); j++) {
			struct player whole, player;

			play(recorded_runtimes[i], &scripts[j], pieces[0], &whole);
			for (size_t k = 1; k < ARRAY_SIZE(pieces); k++) {
				play(recorded_runtimes[i], &scripts[j], pieces[k], &player);
				if (whole.log.data)
					assert_string_equal(player.log.data, whole.log.data);
				text_fini(&player.log);
			}
			text_fini(&whole.log);
		}
	}
}

static void assert_log(const char *runtime, char session, const char *expected)
{
	struct player player;

	play(runtime, &scripts[session - 'A'], SIZE_MAX / 2, &player);
	assert_string_equal(player.log.data, expected);
	text_fini(&player.log);
}

#define LIFE                                                                                        \
	"synchronize 0 pods, 0 containers\n"                                                        \
	"event 1 of default/guar shares=1024 quota=100000/100000 memory=67108864 cpus='' mems=''\n" \
	"create default/guar c1 state=0 shares=2048 quota=200000/100000 memory=67108864 cpus='' "   \
	"mems=''\n"                                                                                 \
	"event 5 of default/guar c1 state=1\n"                                                      \
	"event 6 of default/guar c1 state=1\n"                                                      \
	"event 7 of default/guar c1 state=3\n"                                                      \
	"updated: 0 \n"                                                                             \
	"updated: 0 \n"                                                                             \
	"updated: 2 NRI update of some containers failed\n"                                         \
	"update default/guar c1 state=3 shares=4096 quota=300000/100000 memory=0 cpus='' mems=''\n" \
	"event 9 of default/guar c1 state=3\n"                                                      \
	"update default/guar c1 state=3 shares=0 quota=0/0 memory=0 cpus='0-1' mems=''\n"           \
	"event 9 of default/guar c1 state=3\n"

static void the_life_of_a_container_is_told(void **state)
{
	assert_log("containerd-1.7.24", 'A',
		   "configure containerd 1.7.24~ds1 nri='' 0/0 ms known=0x7ff\n" LIFE);
	assert_log("containerd-2.1.9", 'A',
		   "configure containerd 2.1.9+unknown nri='' 5000/2000 ms known=0x7ff\n" LIFE);
}

static void the_end_of_a_pod_is_told(void **state)
{
	assert_log("containerd-2.1.9", 'B',
		   "configure containerd 2.1.9+unknown nri='' 5000/2000 ms known=0x7ff\n"
		   "synchronize 1 pods, 2 containers\n"
		   "stop default/guar c2 state=3\n"
		   "event 11 of default/guar c2 state=4\n"
		   "stop default/guar c1 state=3\n"
		   "event 11 of default/guar c1 state=4\n"
		   "event 2 of default/guar\n"
		   "event 3 of default/guar\n");
}

static void a_refused_container_is_stopped(void **state)
{
	assert_log("containerd-2.1.9", 'E',
		   "configure containerd 2.1.9+unknown nri='' 5000/2000 ms known=0x7ff\n"
		   "synchronize 1 pods, 0 containers\n"
		   "create default/p e1 state=0 shares=1024 quota=-/- memory=- cpus='' mems=''\n"
		   "stop default/p e1 state=0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_send_what_was_recorded),
		cmocka_unit_test(the_life_of_a_container_is_told),
		cmocka_unit_test(the_end_of_a_pod_is_told),
		cmocka_unit_test(a_refused_container_is_stopped),
	};

	memset(padding, 'x', sizeof(padding) - 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
