/* scope.c: see scope.h. */
#include "domain/scope.h"

static const char *const SCOPE_NAMES[SCOPE_NR] = {
#define SCOPE(id, name) [SCOPE_NO_##id] = name,
#include "domain/scope.def"
#undef SCOPE
};

const char *scope_name(unsigned no) { return no < SCOPE_NR ? SCOPE_NAMES[no] : NULL; }

unsigned scope_bit_of(struct str name) {
    for (unsigned i = 0; i < SCOPE_NR; i++)
        if (str_eqc(name, SCOPE_NAMES[i])) return 1u << i;
    return 0;
}

bool scopes_parse(struct str list, unsigned *bits, struct str *bad) {
    unsigned all = 0;
    struct str rest = list;
    while (rest.n > 0) {
        struct str head = rest, tail = STR_NONE;
        if (!str_cut(rest, ',', &head, &tail)) tail = STR_NONE;
        head = str_trim(head);
        unsigned bit = str_eqc(head, "all") ? SCOPE_TENANT : scope_bit_of(head);
        if (bit == 0) {
            if (bad != NULL) *bad = head;
            return false;
        }
        all |= bit;
        rest = tail;
    }
    *bits = all;
    return true;
}

void scopes_format(unsigned bits, struct buf *out) {
    bool first = true;
    for (unsigned i = 0; i < SCOPE_NR; i++) {
        if ((bits & (1u << i)) == 0) continue;
        if (!first) buf_addc(out, ',');
        buf_addz(out, SCOPE_NAMES[i]);
        first = false;
    }
}
