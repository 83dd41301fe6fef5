// SPDX-License-Identifier: Apache-2.0
/*
 * The events that a runtime reports: those that ask for an answer become requests, and the
 * others are answered before anybody hears of them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "nri/decode.h"
#include "nri/session_private.h"

/* The subject of an event, decoded; borrows from the message. */
struct nri_subject {
	struct nri_pod pod;
	struct nri_container container;
};

static int decode_subject(struct nri_session *session, const struct method *method,
			  const Nri__PodSandbox *pod, const Nri__Container *container,
			  struct nri_subject *ret_subject)
{
	int err = nri_decode_pod(pod, &session->memory, &ret_subject->pod);

	if (!err)
		err = nri_decode_container(container, &session->memory, &ret_subject->container);
	return err ? nri_session_fail(session, err, "no memory for %s", method->name) : 0;
}

static bool is_pod_event(int32_t event)
{
	return event == NRI_EVENT_RUN_POD || event == NRI_EVENT_STOP_POD ||
	       event == NRI_EVENT_REMOVE_POD || event == NRI_EVENT_UPDATE_POD ||
	       event == NRI_EVENT_POST_UPDATE_POD;
}

/* Creation, update and stop have their own requests, in which they ask for an answer. */
static bool is_container_event(int32_t event)
{
	return event == NRI_EVENT_POST_CREATE_CONTAINER || event == NRI_EVENT_START_CONTAINER ||
	       event == NRI_EVENT_POST_START_CONTAINER ||
	       event == NRI_EVENT_POST_UPDATE_CONTAINER || event == NRI_EVENT_REMOVE_CONTAINER;
}

/* Answered first: the runtime waits, and nothing here changes the answer. */
static int report_event(struct nri_session *session, const struct method *method,
			const struct incoming *incoming, int32_t event, const Nri__PodSandbox *pod,
			const Nri__Container *container)
{
	struct nri_subject subject;
	int err = decode_subject(session, method, pod, container, &subject);

	if (err)
		return err;
	if ((is_pod_event(event) && !*subject.pod.id) ||
	    (is_container_event(event) && !*subject.container.id))
		return nri_session_fail(session, -EBADMSG, "%s has event %" PRId32 " without an id",
					method->name, event);
	err = nri_session_succeed(session, incoming, (ProtobufCBinaryData){0});
	if (err)
		return err;
	if (is_pod_event(event))
		session->callbacks->pod_event(session->data, (enum nri_event)event, &subject.pod);
	else if (is_container_event(event))
		session->callbacks->container_event(session->data, (enum nri_event)event,
						    &subject.pod, &subject.container);
	/* Others are newer than this code. */
	return 0;
}

int nri_session_state_change(struct nri_session *session, const struct method *method,
			     const struct incoming *incoming)
{
	const Nri__StateChangeEvent *message = nri_session_unpack(
		&nri__state_change_event__descriptor, incoming->payload, &session->memory);

	return message ? report_event(session, method, incoming, message->event, message->pod,
				      message->container)
		       : nri_session_fail_unpack(session, method);
}

int nri_session_container_event(struct nri_session *session, const struct method *method,
				const struct incoming *incoming)
{
	const Nri__ContainerEventRequest *message = nri_session_unpack(
		&nri__container_event_request__descriptor, incoming->payload, &session->memory);

	return message ? report_event(session, method, incoming, method->event, message->pod,
				      message->container)
		       : nri_session_fail_unpack(session, method);
}

/* Field 2 of UpdatePodSandbox is not a container. */
int nri_session_pod_event(struct nri_session *session, const struct method *method,
			  const struct incoming *incoming)
{
	const Nri__PodEventRequest *message = nri_session_unpack(
		&nri__pod_event_request__descriptor, incoming->payload, &session->memory);

	return message ? report_event(session, method, incoming, method->event, message->pod, NULL)
		       : nri_session_fail_unpack(session, method);
}

/* The events that ask for an answer. */
static int ask(struct nri_session *session, const struct method *method,
	       const struct incoming *incoming, const Nri__PodSandbox *pod,
	       const Nri__Container *container, const Nri__LinuxResources *resources)
{
	const struct nri_callbacks *callbacks = session->callbacks;
	struct nri_pending *pending = incoming->pending;
	struct nri_resources wanted;
	struct nri_subject subject;
	int err = decode_subject(session, method, pod, container, &subject);

	if (err)
		return err;
	if (!*subject.container.id)
		return nri_session_fail(session, -EBADMSG, "%s has a container without an id",
					method->name);
	nri_decode_resources(resources, &wanted);
	if (method->event == NRI_EVENT_CREATE_CONTAINER) {
		pending->kind = NRI_REQUEST_CREATE;
		pending->container_id = strdup(subject.container.id);
		if (!pending->container_id)
			return nri_session_fail(session, -ENOMEM, "no memory for %s", method->name);
		callbacks->create_container(session->data, pending->stream, &subject.pod,
					    &subject.container);
	} else if (method->event == NRI_EVENT_UPDATE_CONTAINER) {
		pending->kind = NRI_REQUEST_UPDATE;
		callbacks->update_container(session->data, pending->stream, &subject.pod,
					    &subject.container, &wanted);
	} else {
		pending->kind = NRI_REQUEST_STOP;
		callbacks->stop_container(session->data, pending->stream, &subject.pod,
					  &subject.container);
	}
	return 0;
}

/* CreateContainer and StopContainer have no resources; their messages end before that field. */
int nri_session_question(struct nri_session *session, const struct method *method,
			 const struct incoming *incoming)
{
	const Nri__ContainerRequest *message = nri_session_unpack(
		&nri__container_request__descriptor, incoming->payload, &session->memory);

	return message ? ask(session, method, incoming, message->pod, message->container,
			     message->linux_resources)
		       : nri_session_fail_unpack(session, method);
}
