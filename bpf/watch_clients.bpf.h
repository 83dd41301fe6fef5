/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who asked process 1? What systemd does for another process, it does itself: the culprit of such an
 * event is process 1. So the last processes that connected to it are remembered, and the agent
 * names the one that connected just before. A part of watch.bpf.c.
 */
#ifndef WATCH_CLIENTS_BPF_H
#define WATCH_CLIENTS_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pid1_clients);
} pid1_clients SEC(".maps");

/*
 * systemd's own socket, which systemctl uses as root, and the system bus. Volatile, so that clang keeps
 * them in .rodata: it puts other strings into a section of their own, and the BTF of .rodata is then wrong.
 */
const volatile char systemd_socket[] = "/run/systemd/private";
const volatile char bus_socket[] = "/run/dbus/system_bus_socket";

static __always_inline bool is_at(struct sock *listener, const volatile char *path, __u32 size)
{
	struct unix_sock *unix_sock = (struct unix_sock *)listener;
	char bound[sizeof(bus_socket)] = {};
	struct unix_address *address;

	if (!bpf_core_field_exists(unix_sock->addr))
		return false;
	address = BPF_CORE_READ(unix_sock, addr);
	if (!address || BPF_CORE_READ_STR_INTO(&bound, address, name[0].sun_path) != size)
		return false;
	for (__u32 i = 0; i < size; i++)
		if (bound[i] != path[i])
			return false;
	return true;
}

/* Two that connect at once may take the same row; the agent then names the later one, or nobody. */
static __always_inline void note_client(void)
{
	struct pid1_client *client;
	struct pid1_clients *clients;
	__u32 zero = 0;

	clients = bpf_map_lookup_elem(&pid1_clients, &zero);
	if (!clients)
		return;
	client = &clients->rows[__sync_fetch_and_add(&clients->next, 1) % PID1_CLIENTS];
	client->time_ns = 0;
	client->cgroup = writer_id();
	client->pid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(client->comm, sizeof(client->comm));
	client->time_ns = bpf_ktime_get_boot_ns();
}

SEC("fentry/security_unix_stream_connect")
int BPF_PROG(client_connects, struct sock *sock, struct sock *listener)
{
	const struct guard_config *config = read_config();

	if (!config || is_agent(config))
		return 0;
	if (is_at(listener, systemd_socket, sizeof(systemd_socket)) ||
	    is_at(listener, bus_socket, sizeof(bus_socket)))
		note_client();
	return 0;
}

#endif
