/*
 * fields.c: see fields.h.
 */
#include "codec/fields.h"

void fields_begin(struct jw *w) {
    jw_key(w, "fields");
    jw_array(w);
}

void fields_add(struct jw *w, struct str path, const char *reason) {
    jw_object(w);
    jw_kstr(w, "path", path);
    jw_kstrz(w, "reason", reason);
    jw_end_object(w);
}

void fields_end(struct jw *w) { jw_end_array(w); }
