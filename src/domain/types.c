/* types.c: a node type as a JSON object; see types.h. */
#include "domain/types.h"

#include "codec/ident.h"

bool wf_type_of_others(struct str type_id) {
    return id_type_valid(type_id) && !str_starts(type_id, STR("core.")) &&
           !str_starts(type_id, STR("openwop.")) && !str_starts(type_id, STR("vendor.wopr."));
}

void wf_type_render(const struct wf_type *t, struct jw *w) {
    jw_object(w);
    jw_kstr(w, "typeId", t->type_id);
    jw_kstr_opt(w, "summary", t->summary);
    jw_kraw_opt(w, "config", t->config);
    jw_kraw_opt(w, "outputs", t->outputs);
    jw_kraw_opt(w, "example", t->example);
    jw_end_object(w);
}
