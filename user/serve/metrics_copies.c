// SPDX-License-Identifier: Apache-2.0
/* libmicrohttpd counts who uses a response, and frees it when nobody does any more. */
#include "serve/metrics_copies.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "format/exposition.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/text.h"
#include "serve/respond.h"

static void drop(struct MHD_Response **response)
{
	if (*response)
		MHD_destroy_response(*response);
	*response = NULL;
}

void metrics_copies_drop(struct metrics_copies *copies)
{
	for (size_t i = 0; i < ARRAY_SIZE(copies->formats); i++)
		drop(&copies->formats[i].response);
}

static int build(const struct faces_port *faces, bool openmetrics,
		 struct MHD_Response **ret_response)
{
	struct text page cleanup_text = {0};
	char *data cleanup_free = NULL;
	size_t len;
	int r = faces->metrics(faces->self, openmetrics, &page);

	len = page.len;
	if (!r)
		r = text_take(&page, &data);
	if (r)
		return r;
	*ret_response = respond_make_text(
		openmetrics ? EXPOSITION_TYPE_OPENMETRICS : EXPOSITION_TYPE_TEXT, data, len);
	/* The response has taken it, or freed it. */
	(void)TAKE_PTR(data);
	return *ret_response ? 0 : -ENOMEM;
}

enum MHD_Result metrics_copies_answer(struct metrics_copies *copies,
				      struct MHD_Connection *connection,
				      const struct faces_port *faces, bool openmetrics)
{
	struct MHD_Response **latest = &copies->formats[openmetrics].response, *response;
	const uint64_t begun_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t age_ns;
	int r;

	if (*latest && clock_read_ns(CLOCK_MONOTONIC) < copies->formats[openmetrics].fresh_until_ns)
		return MHD_queue_response(connection, MHD_HTTP_OK, *latest);
	r = build(faces, openmetrics, &response);
	if (r)
		return respond_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "metrics: %s",
				     strerror(-r));
	drop(latest);
	*latest = response;
	/* Time in which something else ran is nobody's cost. */
	age_ns = (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns) * (METRICS_SHARE - 1);
	copies->formats[openmetrics].fresh_until_ns =
		clock_read_ns(CLOCK_MONOTONIC) +
		(age_ns < METRICS_AGE_MAX_NS ? age_ns : METRICS_AGE_MAX_NS);
	return MHD_queue_response(connection, MHD_HTTP_OK, response);
}
