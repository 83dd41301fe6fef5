/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes Pod documents to pod_spec: several documents in a text, YAML or
 * JSON, `kind: Pod` or a list of them. Reads what placement needs (names,
 * resources, overhead, the kinds of containers) and checks it as the API server
 * would; all other fields of a Pod are somebody else's and are not looked at.
 * One bad document refuses only itself.
 */
#ifndef FORMAT_MANIFEST_H
#define FORMAT_MANIFEST_H

#include "core/pod/pod.h"
#include "format/error.h"

#define MANIFEST_MAX_BYTES     (1U << 20)
#define MANIFEST_MAX_DOCUMENTS 64 /* members of a list count one by one */

struct manifest_document {
	unsigned int line; /* where it begins, from 1 */
	/* "namespace/name" as far as it could be read, else "". */
	char name[2 * POD_NAME_MAX];
	char namespace[POD_NAME_MAX], pod[POD_NAME_MAX]; /* its parts */
	struct pod_spec *spec;				 /* owned; NULL = refused */
	struct format_error error;			 /* why it is refused */
	char note[160]; /* accepted, but something was left out; "" = nothing */
};

struct manifest {
	uint32_t nr_documents;
	struct manifest_document *documents; /* in the order of the text */
};

/* Free all documents, with the pods that nobody has taken out of them. */
void manifest_fini(struct manifest *manifest);
#define cleanup_manifest cleanup(manifest_fini)

/*
 * Parse all documents. What is wrong with the whole text (too large, too many
 * documents) is one refused document. Empty documents are skipped.
 * A pod without metadata.uid gets manifest_uid() of its names. Specs are
 * defaulted (pod_spec_default). -ENOMEM is the only error.
 */
int manifest_parse(const char *data, size_t len, struct manifest *ret_manifest);

/* FNV-1a, 128 bits, of "namespace/name", written as 8-4-4-4-12 hex digits. */
void manifest_uid(const char *namespace, const char *name, char ret_uid[POD_UID_MAX]);

#endif
