/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The guard's own pins, and the mounts of bpffs and cgroup2. A part of guard.bpf.c, which has the types
 * and maps, and judges.
 */
#ifndef GUARD_OWN_BPF_H
#define GUARD_OWN_BPF_H

static __always_inline __u32 marks_of(__u32 kind, __u32 dev, __u64 id)
{
	struct guard_file_key key = {.kind = kind, .dev = dev, .id = id};
	__u32 *marks = bpf_map_lookup_elem(&guard_files, &key);

	return marks ? *marks : 0;
}

/* Is it one of the directories that the pins are in? */
static __always_inline bool has_pins(struct inode *inode)
{
	return inode && marks_of(GUARD_FILE_DIRECTORY, BPF_CORE_READ(inode, i_sb, s_dev),
				 BPF_CORE_READ(inode, i_ino));
}

/*
 * Nobody but the agent changes what the guard hangs on. `dentry` is what it is done to, and
 * `cgrp` the cgroup behind it or NULL. Fails open like check_file.
 */
static __always_inline int judge_own_file(struct dentry *dentry, struct cgroup *cgrp, __u32 hook)
{
	const struct guard_config *config = read_config();
	struct guarded_operation op;

	if (!config)
		return 0;
	__builtin_memset(&op, 0, sizeof(op));
	begin_operation(&op, hook, config);
	op.aspect = ASPECT_GUARD_FILES;
	op.right = RIGHT_AGENT;
	op.target.slot = SLOT_NONE;
	if (cgrp)
		find_place(cgrp, config, &op.target);
	bpf_probe_read_kernel_str(op.name, sizeof(op.name), BPF_CORE_READ(dentry, d_name.name));
	return judge(&op);
}

/* Every removal of a file. All but those on bpffs leave after two loads and a comparison. */
static __always_inline int check_unlink(struct inode *dir, struct dentry *dentry)
{
	if (dir->i_sb->s_magic != BPF_FS_MAGIC || !has_pins(dir))
		return 0;
	return judge_own_file(dentry, NULL, HOOK_INODE_UNLINK);
}

/* Out of the directories, into them, or of one of them. */
static __always_inline int check_rename(struct inode *old_dir, struct dentry *old_dentry,
					struct inode *new_dir, struct dentry *new_dentry)
{
	if (old_dir->i_sb->s_magic != BPF_FS_MAGIC)
		return 0;
	if (has_pins(new_dir) || has_pins(BPF_CORE_READ(new_dentry, d_inode)))
		return judge_own_file(new_dentry, NULL, HOOK_INODE_RENAME);
	if (has_pins(old_dir) || has_pins(BPF_CORE_READ(old_dentry, d_inode)))
		return judge_own_file(old_dentry, NULL, HOOK_INODE_RENAME);
	return 0;
}

/*
 * Creation of a cgroup below `dir`, or of a directory where a pin is to be: the agent could not
 * replace one that has something in it. Fails open like check_file.
 */
static __always_inline int check_mkdir(struct inode *dir, struct dentry *dentry)
{
	if (dir->i_sb->s_magic == BPF_FS_MAGIC && has_pins(dir))
		return judge_own_file(dentry, NULL, HOOK_INODE_MKDIR);
	if (dir->i_sb->s_magic != CGROUP2_SUPER_MAGIC)
		return 0;
	return check_directory(dir->i_private, dentry, HOOK_INODE_MKDIR);
}

/* Removal of the cgroup behind `dentry`, or of a directory with pins. Fails open like check_file. */
static __always_inline int check_rmdir(struct inode *dir, struct dentry *dentry)
{
	if (dir->i_sb->s_magic == BPF_FS_MAGIC &&
	    (has_pins(dir) || has_pins(BPF_CORE_READ(dentry, d_inode))))
		return judge_own_file(dentry, NULL, HOOK_INODE_RMDIR);
	if (dir->i_sb->s_magic != CGROUP2_SUPER_MAGIC)
		return 0;
	return check_directory(BPF_CORE_READ(dentry, d_inode, i_private), dentry, HOOK_INODE_RMDIR);
}

/* More mounts than this on one, or that share with one, are not looked at. */
#define MOUNTS_ON_ONE 4096
#define MOUNTS_SHARED 1024

static __always_inline __u32 marks_of_super(struct super_block *sb)
{
	return marks_of(GUARD_FILE_SUPER, BPF_CORE_READ(sb, s_dev), 0);
}

/*
 * The kernel gives the number of a mount that has gone to another one, which the agent may learn
 * late or, while it is dead, never: one of ours has our file system as well.
 */
static __always_inline __u32 marks_of_mount(struct mount *mount)
{
	__u32 marks = marks_of(GUARD_FILE_MOUNT, 0, (__u32)BPF_CORE_READ(mount, mnt_id));

	if ((marks & GUARD_FILE_OURS) && !marks_of_super(BPF_CORE_READ(mount, mnt.mnt_sb)))
		marks &= ~GUARD_FILE_OURS;
	return marks;
}

/* A walk over the mounts that share with one, itself among them: what one of them gets, all get. */
struct peer_walk {
	__u64 first, at; /* addresses of list heads */
	__u32 marks;
};

/* Without a lock, as below. The kernel's own lists, because the groups may change at any moment. */
static long visit_peer(__u32 index, struct peer_walk *walk)
{
	struct mount *peer = (void *)(walk->at - bpf_core_field_offset(struct mount, mnt_share));

	walk->marks |= marks_of_mount(peer);
	walk->at = (__u64)BPF_CORE_READ(peer, mnt_share.next);
	return !walk->at || walk->at == walk->first;
}

/* Those of the mount itself among them. */
static __noinline __u32 marks_of_peers(struct mount *mount)
{
	struct peer_walk walk = {.first = (__u64)mount +
					  bpf_core_field_offset(struct mount, mnt_share)};

	walk.at = walk.first;
	bpf_loop(MOUNTS_SHARED, visit_peer, &walk, 0);
	return walk.marks;
}

/*
 * Does one of our file systems go when `mount` is unmounted: it is the host's mount of it, or has
 * the same place on a mount that shares with what the host's is on? A bind mount elsewhere, and a
 * mount in a namespace that shares nothing with the host's, does neither.
 */
static __always_inline bool takes_ours(struct mount *mount)
{
	struct mount *parent = BPF_CORE_READ(mount, mnt_parent);

	if (marks_of_mount(mount) & GUARD_FILE_OURS)
		return true;
	return marks_of_super(BPF_CORE_READ(mount, mnt.mnt_sb)) &&
	       BPF_CORE_READ(parent, mnt_group_id) && (marks_of_peers(parent) & GUARD_FILE_HOLDS);
}

/* A walk over the mounts on a mount that shares with one that ours are on, or further below. */
struct child_walk {
	__u64 head, at;	    /* addresses of list heads */
	__u32 marks, group; /* of the mount */
	bool found;
};

/* Without a lock, so that `at` may be of a mount that has gone: then the walk ends somewhere. */
static long visit_child(__u32 index, struct child_walk *walk)
{
	struct mount *child;

	if (!walk->at || walk->at == walk->head)
		return 1;
	child = (void *)(walk->at - bpf_core_field_offset(struct mount, mnt_child));
	if (walk->marks & GUARD_FILE_HOLDS)
		walk->found = marks_of_super(BPF_CORE_READ(child, mnt.mnt_sb));
	if (!walk->found && (walk->marks & GUARD_FILE_ABOVE))
		walk->found = marks_of_peers(child) &&
			      (__u32)BPF_CORE_READ(child, mnt_group_id) != walk->group;
	if (walk->found)
		return 1;
	walk->at = (__u64)BPF_CORE_READ(child, mnt_child.next);
	return 0;
}

/*
 * A lazy unmount takes the mounts on a mount with it, and what shares with these: of all of /sys,
 * but also of a recursive bind mount of it.
 */
static __always_inline bool takes_all(struct mount *mount)
{
	struct child_walk walk = {.marks = marks_of_peers(mount)};

	if (marks_of_mount(mount))
		return true;
	if (!(walk.marks & (GUARD_FILE_HOLDS | GUARD_FILE_ABOVE)))
		return false;
	/* bind mounts of the same file system are in the same group */
	walk.group = BPF_CORE_READ(mount, mnt_group_id);
	walk.head = (__u64)mount + bpf_core_field_offset(struct mount, mnt_mounts);
	walk.at = (__u64)BPF_CORE_READ(mount, mnt_mounts.next);
	bpf_loop(MOUNTS_ON_ONE, visit_child, &walk, 0);
	return walk.found;
}

static __always_inline int check_umount(struct vfsmount *mnt, int flags)
{
	struct mount *mount = mount_of(mnt);

	/* it unmounts what there is when the machine goes down; so below */
	if (is_process_1() || (!takes_ours(mount) && !((flags & MNT_DETACH) && takes_all(mount))))
		return 0;
	return judge_own_file(BPF_CORE_READ(mount, mnt_mountpoint), NULL, HOOK_SB_UMOUNT);
}

/* The cgroup whose directory, or one of whose files, `dentry` is. */
static __always_inline struct cgroup *cgroup_behind(struct dentry *dentry)
{
	struct kernfs_node *kn = BPF_CORE_READ(dentry, d_inode, i_private);

	/* a file has something else there */
	if ((BPF_CORE_READ(dentry, d_inode, i_mode) & S_IFMT) != S_IFDIR)
		kn = parent_of(kn);
	return BPF_CORE_READ(kn, priv);
}

/* A mount over a cgroup or a file of it, if it is managed or above managed ones. */
static __always_inline int check_over_cgroup(struct dentry *dentry, bool is_root, __u32 hook)
{
	const struct guard_config *config = read_config();
	struct cgroup *cgrp = cgroup_behind(dentry);
	struct place place;

	if (!config)
		return 0;
	find_place(cgrp, config, &place);
	if (!is_root && !place.tree && !place.self)
		return 0;
	return judge_own_file(dentry, cgrp, hook);
}

/* A mount at `path`, which would hide the pins or the managed cgroups from a starting agent. */
static __always_inline int check_over(const struct path *path, __u32 hook)
{
	struct dentry *dentry = BPF_CORE_READ(path, dentry);
	struct mount *mount = mount_of(BPF_CORE_READ(path, mnt));
	bool is_root;

	if (is_process_1() || !(marks_of_peers(mount) & GUARD_FILE_OURS))
		return 0;
	is_root = dentry == BPF_CORE_READ(mount, mnt.mnt_root);
	if (BPF_CORE_READ(dentry, d_sb, s_magic) == CGROUP2_SUPER_MAGIC)
		return check_over_cgroup(dentry, is_root, hook);
	if (!is_root && !has_pins(BPF_CORE_READ(dentry, d_inode)) &&
	    !has_pins(BPF_CORE_READ(dentry, d_parent, d_inode)))
		return 0;
	return judge_own_file(dentry, NULL, hook);
}

/*
 * mount(2). The name of what MS_MOVE moves is only a text here; a mount that was moved is still
 * the same, and unmounting it is denied.
 */
static __always_inline int check_mount(const struct path *path, unsigned long flags)
{
	/* alone; beside these two the kernel ignores it */
	if ((flags & MS_PROPAGATION) && !(flags & (MS_REMOUNT | MS_BIND)))
		return 0;
	if ((flags & (MS_REMOUNT | MS_BIND)) == MS_REMOUNT)
		return 0; /* check_remount knows the file system */
	if ((flags & MS_REMOUNT) &&
	    !(marks_of_mount(mount_of(BPF_CORE_READ(path, mnt))) & GUARD_FILE_OURS))
		return 0; /* concerns this one mount, and not its peers */
	return check_over(path, HOOK_SB_MOUNT);
}

static __always_inline int check_move_mount(const struct path *from, const struct path *to)
{
	struct mount *moved = mount_of(BPF_CORE_READ(from, mnt));

	/* what is mounted on it moves with it */
	if (marks_of_mount(moved) && !is_process_1())
		return judge_own_file(BPF_CORE_READ(moved, mnt_mountpoint), NULL, HOOK_MOVE_MOUNT);
	return check_over(to, HOOK_MOVE_MOUNT);
}

/*
 * Read-only, cgroup2 and bpffs would not let the agent do anything, and other options change cgroups.
 * Of cgroup2 the record names the root, as that of a remount of one mount does.
 */
static __always_inline int check_remount(struct super_block *sb)
{
	struct dentry *root = BPF_CORE_READ(sb, s_root);
	bool is_cgroup2 = BPF_CORE_READ(sb, s_magic) == CGROUP2_SUPER_MAGIC;

	if (is_process_1() || !marks_of_super(sb))
		return 0;
	return judge_own_file(root, is_cgroup2 ? cgroup_behind(root) : NULL, HOOK_SB_REMOUNT);
}

#endif
