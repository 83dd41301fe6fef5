/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP: /metrics, /healthz, /readyz, /topology (the NUMA nodes for schedulers) and a page for people,
 * /, on TCP; the JSON API on a unix socket.
 * Bytes from peers end here: bounded, checked, answered. What the answers say
 * is the controller's, behind struct faces_port.
 *
 * TCP serves GET and HEAD of those five paths only. The socket is mode 0600 and asks
 * the kernel who the peer is (SO_PEERCRED); only uid 0 is answered.
 */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <systemd/sd-event.h>

#include "ctl/ports.h"

#define SERVER_MAX_BODY	       (1024 * 1024)
#define SERVER_MAX_CONNECTIONS 64
#define SERVER_TIMEOUT_S       10

struct server;

struct server_options {
	/* "127.0.0.1:9417", "[::1]:9417"; NULL or "" = no TCP */
	const char *metrics_address;
	int runtime_dir_fd;	 /* borrowed; the socket is bound below it */
	const char *runtime_dir; /* its path, for messages and bind(2) */
	const char *socket_name; /* file name of the socket */
	unsigned int timeout_ms; /* of one request; 0 = SERVER_TIMEOUT_S */
};

/*
 * Bind and serve on the loop. The caller holds the instance lock, so a socket
 * file found is stale and is replaced: bound under a temporary name, renamed.
 * Failures are logged here. `faces` is borrowed for the server's life.
 */
int server_open(const struct server_options *options, const struct faces_port *faces,
		sd_event *event, struct server **ret_server);
/* Stops serving and removes the socket file. NULL is fine. */
void server_close(struct server *server);

/* Split "ADDRESS:PORT" or "[ADDRESS]:PORT"; -EINVAL names nothing: the caller has the text. */
int server_parse_address(const char *text, char *ret_host, size_t size, uint16_t *ret_port);

#endif
