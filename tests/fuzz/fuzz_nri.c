// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
// COVERS: user/nri/session.c
// COVERS: user/nri/session_send.c
// COVERS: user/nri/session_events.c
// COVERS: user/nri/session_calls.c
// COVERS: user/nri/wire.c
// COVERS: user/nri/decode.c
/*
 * A session whose runtime sends anything. The first byte says how the rest is sent: raw, or
 * as requests that are put into right envelopes and frames, which a fuzzer does not guess;
 * and in pieces of which length. However the bytes are cut, the answers are the same.
 *
 * A request is a byte for its method, one for its timeout, two for the length of its payload,
 * and the payload.
 */
#include <string.h>

#include "fuzz.h"
#include "lib/text.h"
#include "nri.pb-c.h"
#include "nri/session.h"
#include "nri/wire.h"

#define NOW	       1000000000ULL
#define SENT_RAW       1U
#define SENT_STARTED   2U /* after a Configure and an empty Synchronize */
#define PIECE_SHIFT    2
#define REQUESTS_BYTES 4

struct plugin {
	struct nri_session *session;
	size_t length; /* of all strings: reads every one of them */
};

static void use_pairs(struct plugin *plugin, const struct nri_pairs *pairs)
{
	for (size_t i = 0; i < pairs->nr; i++)
		plugin->length += strlen(pairs->pairs[i].key) + strlen(pairs->pairs[i].value);
}

static void use_pod(struct plugin *plugin, const struct nri_pod *pod)
{
	plugin->length += strlen(pod->id) + strlen(pod->name) + strlen(pod->uid) +
			  strlen(pod->namespace) + strlen(pod->runtime_handler) +
			  strlen(pod->cgroup_parent) + strlen(pod->cgroups_path) +
			  strlen(pod->resources.cpus) + strlen(pod->overhead.mems);
	use_pairs(plugin, &pod->labels);
	use_pairs(plugin, &pod->annotations);
}

static void use_container(struct plugin *plugin, const struct nri_container *container)
{
	FUZZ_CHECK(container->state <= NRI_CONTAINER_STOPPED);
	plugin->length += strlen(container->id) + strlen(container->pod_id) +
			  strlen(container->name) + strlen(container->cgroups_path) +
			  strlen(container->resources.cpus) + strlen(container->resources.mems);
	use_pairs(plugin, &container->labels);
	use_pairs(plugin, &container->annotations);
}

/* -ENOBUFS is possible: nobody reads the answers. */
static void answer(struct plugin *plugin, uint32_t request, const struct nri_answer *given)
{
	nri_session_answer(plugin->session, request, given);
}

static uint32_t configure(void *data, const struct nri_runtime *runtime)
{
	struct plugin *plugin = data;

	plugin->length += strlen(runtime->name) + strlen(runtime->version) +
			  strlen(runtime->nri_version) + strlen(runtime->config);
	return runtime->known_events;
}

static void synchronize(void *data, uint32_t request, const struct nri_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->nr_pods; i++)
		use_pod(data, &snapshot->pods[i]);
	for (size_t i = 0; i < snapshot->nr_containers; i++)
		use_container(data, &snapshot->containers[i]);
	answer(data, request, &(struct nri_answer){0});
}

static void create_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container)
{
	const struct nri_adjustment adjustment = {"2-3", "0", pod->labels};

	use_pod(data, pod);
	use_container(data, container);
	FUZZ_CHECK(*container->id);
	answer(data, request, &(struct nri_answer){.adjustment = &adjustment});
}

static void update_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container,
			     const struct nri_resources *wanted)
{
	const struct nri_update update = {container->id, wanted->cpus, wanted->mems, false};

	use_pod(data, pod);
	use_container(data, container);
	answer(data, request, &(struct nri_answer){.updates = &update, .nr_updates = 1});
}

static void stop_container(void *data, uint32_t request, const struct nri_pod *pod,
			   const struct nri_container *container)
{
	use_pod(data, pod);
	use_container(data, container);
	answer(data, request, &(struct nri_answer){0});
}

static void container_event(void *data, enum nri_event event, const struct nri_pod *pod,
			    const struct nri_container *container)
{
	use_pod(data, pod);
	use_container(data, container);
	FUZZ_CHECK(*container->id);
}

static void pod_event(void *data, enum nri_event event, const struct nri_pod *pod)
{
	use_pod(data, pod);
	FUZZ_CHECK(*pod->id);
}

static void updated(void *data, int32_t code, const char *text)
{
	struct plugin *plugin = data;

	plugin->length += strlen(text);
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

/* --- what the runtime sends ------------------------------------------------------------------ */

static const char *const methods[] = {
	"Configure",	      "Synchronize",	  "CreateContainer",
	"UpdateContainer",    "StopContainer",	  "StateChange",
	"RunPodSandbox",      "UpdatePodSandbox", "RemoveContainer",
	"StartContainer",     "Shutdown",	  "ValidateContainerAdjustment",
	"StopPodSandbox",     "RemovePodSandbox", "PostUpdatePodSandbox",
	"PostStartContainer", "Nothing",
};

static void add_request(struct nri_output *stream, uint32_t id, uint8_t method, int8_t timeout,
			const uint8_t *payload, size_t len)
{
	Nri__Request request = NRI__REQUEST__INIT;
	struct nri_message message = {NRI_CONNECTION_PLUGIN, id, NRI_MESSAGE_REQUEST, NULL, 0};
	uint8_t *packed;

	request.service = (char *)(uintptr_t) "nri.pkg.api.v1alpha1.Plugin";
	request.method = (char *)(uintptr_t)methods[method % ARRAY_SIZE(methods)];
	request.timeout_nano = (int64_t)timeout * 1000000000;
	request.payload = (ProtobufCBinaryData){len, (uint8_t *)(uintptr_t)payload};
	message.len = nri__request__get_packed_size(&request);
	packed = malloc(message.len + 1);
	FUZZ_CHECK(packed);
	nri__request__pack(&request, packed);
	message.data = packed;
	FUZZ_CHECK(nri_output_add(stream, &message) == 0);
	free(packed);
}

static void add_requests(struct nri_output *stream, bool is_started, const uint8_t *data,
			 size_t size)
{
	uint32_t id = 1;

	for (uint8_t method = 0; is_started && method < 2; method++, id += 2)
		add_request(stream, id, method, 1, NULL, 0);
	while (size >= REQUESTS_BYTES && stream->end < NRI_OUTPUT_MAX / 2) {
		size_t len = (size_t)data[2] << 8 | data[3];

		if (len > size - REQUESTS_BYTES)
			len = size - REQUESTS_BYTES;
		add_request(stream, id, data[0], (int8_t)data[1], data + REQUESTS_BYTES, len);
		id += 2;
		data += REQUESTS_BYTES + len;
		size -= REQUESTS_BYTES + len;
	}
}

/* What the session has sent is made of whole responses, and of its registration. */
static void check_output(const uint8_t *data, size_t len)
{
	struct nri_reader reader = {0};
	struct nri_message message;

	while (nri_reader_next(&reader, &data, &len, &message) == 1) {
		Nri__Response *response;

		if (message.type == NRI_MESSAGE_REQUEST)
			continue;
		response = nri__response__unpack(NULL, message.len, message.data);
		FUZZ_CHECK(response && (!response->status || !response->payload.len));
		nri__response__free_unpacked(response, NULL);
	}
	FUZZ_CHECK(len == 0 && !nri_reader_is_amid(&reader));
	nri_reader_fini(&reader);
}

/* Feed in pieces; what the session sent goes to `ret_output`. */
static int run(const uint8_t *data, size_t size, size_t piece, struct text *ret_output)
{
	static const struct nri_options options = {"pinfold", "10", "0.12.1", false,
						   "pinfold.dev/"};
	struct plugin plugin = {0};
	const char *text;
	size_t len;
	int err;

	FUZZ_CHECK(nri_session_new(&options, &callbacks, &plugin, NOW, &plugin.session) == 0);
	for (size_t at = 0; at < size; at += piece) {
		err = nri_session_receive(plugin.session, data + at,
					  size - at < piece ? size - at : piece, NOW);
		FUZZ_CHECK(err == nri_session_error(plugin.session, &text));
		FUZZ_CHECK((err == 0) == (*text == '\0'));
	}
	data = nri_session_output(plugin.session, &len);
	check_output(data, len);
	text_append_len(ret_output, (const char *)data, len);
	nri_session_sent(plugin.session, len, NOW);
	err = nri_session_end_of_input(plugin.session);
	FUZZ_CHECK(err < 0 && !nri_session_is_ready(plugin.session));
	nri_session_free(plugin.session);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text whole cleanup_text = {0}, pieces cleanup_text = {0};
	struct nri_output stream = {0};
	size_t piece;
	int err;

	if (size < 1)
		return 0;
	piece = 1 + (data[0] >> PIECE_SHIFT);
	if (!(data[0] & SENT_RAW)) {
		add_requests(&stream, data[0] & SENT_STARTED, data + 1, size - 1);
		data = stream.data;
		size = stream.end;
	} else {
		data++;
		size--;
	}
	err = run(data, size, SIZE_MAX / 2, &whole);
	FUZZ_CHECK(run(data, size, piece, &pieces) == err);
	FUZZ_CHECK(whole.len == pieces.len && !memcmp(whole.data, pieces.data, whole.len));
	nri_output_fini(&stream);
	return 0;
}
