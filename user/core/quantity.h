/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes resource quantities ("500m", "0.5", "1e3", "16Gi", "1.5G").
 *
 * The syntax is that of apimachinery's resource.Quantity: the suffixes n u m "" k M G T P
 * E and Ki Mi Gi Ti Pi Ei, or a decimal exponent (e or E, signed). A value that is not a
 * multiple of the requested unit is rounded away from zero, as Value() and MilliValue()
 * do.
 */
#ifndef CORE_QUANTITY_H
#define CORE_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Parse a quantity into whole units (bytes, CPUs) or thousandths (milli-CPU). Returns
 * -EINVAL for invalid text, -EDOM for a negative quantity and -ERANGE if it does not fit
 * in int64_t. Outputs are unchanged on failure.
 */
int quantity_parse(const char *text, size_t len, int64_t *ret_value);
int quantity_parse_milli(const char *text, size_t len, int64_t *ret_milli);

/* Write the canonical binary form of a byte count ("2Mi", "1Gi", "1000"); buffer >= 24 bytes. */
void quantity_format_binary(uint64_t bytes, char *buffer, size_t size);

#endif
