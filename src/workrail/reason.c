/*
 * reason.c: reasons that keep a step from being done, as blockers and as stored blocks (WR-148).
 */
#include "base/vec.h"
#include "workrail/work.h"

static const struct reason_row {
    enum wr_blocker_code code;
    enum wr_pointer_kind pointer;
    enum wr_reason_kind stored;
} ROWS[WR_DETAILS] = {
#define USER                                                                                       \
    { WR_B_USER_ONLY_DEPENDENCY, WR_P_STEP, WR_R_USER_ONLY_DEPENDENCY }
    [WR_D_NEEDS_USER_SECRET_OR_TOKEN] = USER,
    [WR_D_NEEDS_USER_ACCOUNT_ACCESS] = USER,
    [WR_D_NEEDS_USER_ARTIFACT] = USER,
    [WR_D_NEEDS_USER_CHOICE] = USER,
    [WR_D_NEEDS_USER_APPROVAL] = USER,
    [WR_D_NEEDS_USER_ENVIRONMENT_ACTION] = USER,
#undef USER
    [WR_D_MISSING_REQUIRED_OUTPUT] = {WR_B_MISSING_REQUIRED_OUTPUT, WR_P_CONTRACT,
                                      WR_R_MISSING_REQUIRED_OUTPUT},
    [WR_D_INVALID_REQUIRED_OUTPUT] = {WR_B_INVALID_REQUIRED_OUTPUT, WR_P_CONTRACT,
                                      WR_R_INVALID_REQUIRED_OUTPUT},
    [WR_D_MISSING_REQUIRED_NOTES] = {WR_B_MISSING_REQUIRED_NOTES, WR_P_STEP, WR_R_MISSING_NOTES},
    [WR_D_REQUIRED_CAPABILITY_UNAVAILABLE] = {WR_B_REQUIRED_CAPABILITY_UNAVAILABLE, WR_P_CAPABILITY,
                                              WR_R_REQUIRED_CAPABILITY_UNAVAILABLE},
    [WR_D_REQUIRED_CAPABILITY_UNKNOWN] = {WR_B_REQUIRED_CAPABILITY_UNKNOWN, WR_P_CAPABILITY,
                                          WR_R_REQUIRED_CAPABILITY_UNKNOWN},
    [WR_D_INVARIANT_VIOLATION] = {WR_B_INVARIANT_VIOLATION, WR_P_STEP, WR_R_INVARIANT_VIOLATION},
    [WR_D_STORAGE_CORRUPTION_DETECTED] = {WR_B_STORAGE_CORRUPTION_DETECTED, WR_P_STEP,
                                          WR_R_STORAGE_CORRUPTION_DETECTED},
    [WR_D_EVALUATION_ERROR] = {WR_B_INVARIANT_VIOLATION, WR_P_STEP, WR_R_EVALUATION_ERROR},
};

int wr_reason_add(struct wr_reasons *r, struct wr_reason one, struct arena *a) {
    if (one.message.p == NULL || VEC_ROOM_IN(a, r->v, r->nr, r->cap, 8) != 0)
        return WOPR_E_NO_MEMORY;
    r->v[r->nr++] = one;
    return 0;
}

/* A retry with the same means cannot mend it; of user-only dependencies by decision. */
bool wr_reason_terminal(const struct wr_reason *r) {
    return ROWS[r->detail].stored > WR_R_MISSING_NOTES;
}

int wr_reasons_report(const struct wr_reasons *r, struct arena *a, struct wr_report *out,
                      struct wr_fault *f) {
    size_t nr = r->nr < WR_BLOCKERS_MAX ? r->nr : WR_BLOCKERS_MAX;
    struct wr_blocker *v = ARENA_ARRAY(a, struct wr_blocker, nr);
    if (v == NULL) return wr_no_memory(f);
    for (size_t i = 0; i < nr; i++) {
        const struct wr_reason *one = &r->v[i];
        v[i] = (struct wr_blocker){.code = (int)ROWS[one->detail].code,
                                   .message = wr_fit(one->message, WR_BLOCKER_MESSAGE_MAX, a),
                                   .fix = one->fix};
        v[i].pointer.kind = (int)ROWS[one->detail].pointer;
        v[i].pointer.text = one->text;
        v[i].pointer.capability = one->capability;
        if (v[i].message.p == NULL) return wr_no_memory(f);
    }
    *out = (struct wr_report){v, nr};
    wr_report_sort(out);
    return wr_report_check(out, f);
}

void wr_reason_store(const struct wr_reason *r, struct wr_block *out) {
    out->terminal = wr_reason_terminal(r);
    out->reason.kind = (int)ROWS[r->detail].stored;
    out->reason.text = r->text;
    out->reason.capability = r->capability;
    out->reason.detail = r->detail;
}
