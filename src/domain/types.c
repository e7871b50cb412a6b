/* types.c: a node type as a JSON object; see types.h. */
#include "domain/types.h"

void wf_type_render(const struct wf_type *t, struct jw *w) {
    jw_object(w);
    jw_kstr(w, "typeId", t->type_id);
    jw_kstr_opt(w, "summary", t->summary);
    jw_kraw_opt(w, "config", t->config);
    jw_kraw_opt(w, "outputs", t->outputs);
    jw_kraw_opt(w, "example", t->example);
    jw_end_object(w);
}
