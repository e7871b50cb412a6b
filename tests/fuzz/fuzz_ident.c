/*
 * fuzz_ident.c: times and ids (GEN-2, GEN-4, D11, D13, D14, EVT-1).
 *  - a time that parses has one canonical form, which parses to the same moment;
 *  - every moment, in range or not, formats to 24 bytes that parse to it (or to the nearest);
 *  - an id grammar admits exactly its bytes; a ULID is an opaque id;
 *  - an event id names its sequence, and has one spelling.
 */
#include "codec/ident.h"
#include "domain/event.h"

enum { FUZZ_BYTES_MAX = 1024 };
#define MS_MIN INT64_C(-62167219200000)
#define MS_MAX INT64_C(253402300799999)
#define RUN_ID STR("run_01ARZ3NDEKTSV4RRFFQ69G5FAV")

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_moment(int64_t ms) {
    char text[TIME_LEN + 1];
    int64_t back = 0, want = ms < MS_MIN ? MS_MIN : ms > MS_MAX ? MS_MAX : ms;
    time_format(ms, text);
    ASSERT(strlen(text) == TIME_LEN && text[TIME_LEN - 1] == 'Z');
    ASSERT(time_parse(str_c(text), &back) && back == want);
}

static bool only(struct str s, const char *others) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!alnum && (c == '\0' || !strchr(others, c))) return false;
    }
    return s.n > 0 && s.n <= 128;
}

static void check_ids(struct str s) {
    char id[EVENT_ID_SIZE];
    int64_t seq = -1;
    ASSERT(id_opaque_valid(s) == only(s, "_-"));
    ASSERT(id_author_valid(s) == only(s, "._~:-"));
    ASSERT(id_tenant_valid(s) == only(s, "._-"));
    if (ulid_valid(s)) ASSERT(s.n == ULID_LEN && id_opaque_valid(s));
    if (!event_id_parse(RUN_ID, s, &seq)) return;
    ASSERT(seq >= 0);
    event_id_format(RUN_ID, seq, id);
    ASSERT(str_eqc(s, id));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len > FUZZ_BYTES_MAX) return 0;
    struct str s = str_n((const char *)data, len);
    int64_t ms = 0;
    if (time_parse(s, &ms)) {
        ASSERT(s.n >= 20 && ms >= MS_MIN - 86400000 && ms <= MS_MAX + 86400000);
        check_moment(ms);
    }
    if (len >= sizeof ms) {
        memcpy(&ms, data, sizeof ms);
        check_moment(ms);
        check_moment(ms % (2 * MS_MAX)); /* mostly within the range */
    }
    check_ids(s);
    return 0;
}
