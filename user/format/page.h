/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page for people: objects of the interface as one HTML document that needs nothing from
 * elsewhere. Its tables are those of the inspector. The bound of its size is the number of rows of
 * each table, PAGE_ROWS_MAX; below a table that is cut stands what shows the rest.
 */
#ifndef FORMAT_PAGE_H
#define FORMAT_PAGE_H

#include <stdint.h>

#include "format/object.h"

enum page_object {
	PAGE_NODE,
	PAGE_CPU,
	PAGE_POD,
	PAGE_CONTAINER,
	PAGE_HISTORY, /* an array: of those pods that waited most, longest first */
	PAGE_DISCOVERY,
	PAGE_REFUSAL,
	PAGE_PRESSURE,
	PAGE_NOISE,
	PAGE_DRIFT,
	PAGE_OBJECT_NR
};

#define PAGE_ROWS_MAX 1000
/* Pods with a drawing of their last ten minutes, whose samples are as long as the kernel's shortest window. */
#define PAGE_HISTORIES_MAX     20
#define PAGE_HISTORY_SAMPLE_NS 10000000000ULL

struct page {
	const char *host;    /* the machine's name, for people with many of these pages */
	uint64_t written_ns; /* when the objects were read, since 1970 */
	/* Borrowed; each as its description in page_descs says, NULL where there is none. */
	struct json_object *objects[PAGE_OBJECT_NR];
};

/* What the page is made of, by enum page_object. */
extern const struct object_desc *const page_descs[PAGE_OBJECT_NR];

/*
 * The value of Content-Security-Policy that goes with the page: it permits the page's own style and
 * script, by their SHA-256, and reading the page again.
 */
extern const char page_security_policy[];

/* The whole document; errors stick to `text`. */
void page_render(const struct page *page, struct text *text);

#endif
