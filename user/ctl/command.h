/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that change something: the members of faces_port with these names. */
#ifndef CTL_COMMAND_H
#define CTL_COMMAND_H

#include "ctl/ports.h"

/* The members of faces_port that requests with a body call; ports.h has what they promise. */
int ctl_command(void *self, uint64_t request, const char *object, const char *command,
		struct json_object *body, pid_t peer_pid, struct json_object **ret_json,
		unsigned int *ret_status);
void ctl_listen(void *self, const struct answer_sink *sink);
void ctl_withdraw(void *self, uint64_t request, char *ret_why, size_t size);

#endif
