// SPDX-License-Identifier: Apache-2.0
/* An answer without an object is valid: its status says what happened. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "ctl/answer.h"
#include "format/rows.h"
#include "format/views.h"

int answer_object(struct answer *answer, struct json_object *json)
{
	*answer = (struct answer){json, STATUS_OK};
	return answer->json ? 0 : -ENOMEM;
}

int answer_error(struct answer *answer, enum answer_status status, const char *format, ...)
{
	char sentence[ROW_DETAIL_MAX * 2];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	*answer = (struct answer){view_error(sentence), status};
	return answer->json ? 0 : -ENOMEM;
}
