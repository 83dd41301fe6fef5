/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets that the server listens on. */
#ifndef SERVE_SOCKET_H
#define SERVE_SOCKET_H

/*
 * Listen on "ADDRESS:PORT" (server_parse_address), an IPv4 or IPv6 address. "[::]" stands for all
 * addresses of both, or of IPv4 alone where the kernel has no IPv6. Returns a non-blocking descriptor that the caller owns, or a negative errno, logged with the option's
 * name and value.
 */
int socket_listen_tcp(const char *address);

/*
 * Listen on the unix socket `name`, mode 0600, in the directory `dir_fd`, whose path `dir` is
 * needed because bind(2) takes no descriptor. It is bound under a temporary name and renamed,
 * so a stale socket is replaced, and nobody can connect before the mode is set. Returns a
 * non-blocking descriptor that the caller owns, or a negative errno, logged.
 */
int socket_listen_unix(int dir_fd, const char *dir, const char *name);

#endif
