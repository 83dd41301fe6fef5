/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes that let the compiler check ownership and errors.
 *
 * An owning local carries a cleanup attribute and is initialised; ownership
 * leaves a function only through TAKE_PTR or TAKE_FD. Header only, and the one
 * header outside user/core that the core may include.
 */
#ifndef LIB_CLEANUP_H
#define LIB_CLEANUP_H

#include <stdlib.h>

#define cleanup(func) __attribute__((cleanup(func)))

/* Before a function whose result no caller may ignore, not even with a cast to void. */
#define must_check __attribute__((warn_unused_result))

/* Define `name`, a cleanup function for locals of `type *`; `release` must accept NULL. */
#define DEFINE_CLEANUP(type, name, release)   \
	static inline void name(type **owned) \
	{                                     \
		if (*owned)                   \
			release(*owned);      \
	}                                     \
	struct cleanup_needs_semicolon

static inline void cleanup_free_ptr(void *owned)
{
	free(*(void **)owned);
}

/* For any pointer returned by malloc. */
#define cleanup_free cleanup(cleanup_free_ptr)

#define TAKE_PTR(ptr)                           \
	__extension__({                         \
		__typeof__(ptr) taken_ = (ptr); \
		(ptr) = NULL;                   \
		taken_;                         \
	})

#define TAKE_FD(fd)                \
	__extension__({            \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	})

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
