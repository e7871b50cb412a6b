/* described.h: an operation of the table as the OpenAPI document describes it. */
#ifndef WOPR_TESTS_UNIT_WIRE_DESCRIBED_H
#define WOPR_TESTS_UNIT_WIRE_DESCRIBED_H

#include "codec/json.h"
#include "http/http.h"

#include <ctype.h>

/* The operation object; p NULL: the document has none. */
static inline struct str described_operation(struct str openapi, const struct http_op *op) {
    struct str item = json_get(json_get(openapi, "paths"), op->pattern);
    char method[16] = ""; /* a key of the path item, in lower case */
    for (size_t i = 0; i + 1 < sizeof method && op->method[i] != '\0'; i++)
        method[i] = (char)tolower((unsigned char)op->method[i]);
    return json_get(item, method);
}

#endif
