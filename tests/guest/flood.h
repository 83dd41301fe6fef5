/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flood of packets over the loopback device, all of which one CPU has to receive: its softirq
 * NET_RX interrupts whatever runs there, and as it never comes to an end, the rest is left to
 * that CPU's ksoftirqd.
 */
#ifndef FLOOD_H
#define FLOOD_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/file.h"

#define FLOOD_PORT 9999
/* Each packet is a broadcast, so it is received once for each socket: that takes longer than to send it. */
#define FLOOD_RECEIVERS 30

static inline bool flood_set_up(int socket_fd)
{
	struct ifreq request = {.ifr_name = "lo"};

	if (ioctl(socket_fd, SIOCGIFFLAGS, &request))
		return false;
	request.ifr_flags |= IFF_UP;
	return !ioctl(socket_fd, SIOCSIFFLAGS, &request);
}

/* Whoever sends them, packets are received on this CPU; -1: on that of the sender. */
static inline bool flood_steer(int cpu)
{
	int fd cleanup_close = open("/sys/class/net/lo/queues/rx-0/rps_cpus", O_WRONLY | O_CLOEXEC);
	char mask[300];
	int len = 0;

	if (cpu < 0)
		return fd >= 0 && write(fd, "0", 1) == 1;
	/* words of 32 CPUs, the highest first */
	len += snprintf(mask, sizeof(mask), "%x", 1U << cpu % 32);
	for (int word = cpu / 32; word > 0 && len < (int)sizeof(mask) - 10; word--)
		len += snprintf(mask + len, sizeof(mask) - (size_t)len, ",00000000");
	return fd >= 0 && write(fd, mask, (size_t)len) == len;
}

/* The sockets stay open until the process ends, and nobody reads from them. */
static inline bool flood_receive(void)
{
	const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(FLOOD_PORT)};
	const int yes = 1;

	for (int i = 0; i < FLOOD_RECEIVERS; i++) {
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		if (fd < 0 || (i == 0 && !flood_set_up(fd)) ||
		    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
		    bind(fd, (const struct sockaddr *)&address, sizeof(address)))
			return false;
	}
	return true;
}

/* Returns only if that is not possible. */
static inline void flood_send(void)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(FLOOD_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK | 0x00ffffff),
	};
	int fd cleanup_close = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const int yes = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &yes, sizeof(yes)))
		return;
	while (sendto(fd, "x", 1, 0, (const struct sockaddr *)&address, sizeof(address)) == 1)
		;
}

#endif
