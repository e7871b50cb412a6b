/* rate_limit.c: public scenario rate-limit-envelope (ERR: rate_limited).  Asks a host of its own
 * low limit when OPENWOP_LIMITED_BASE_URL names one, so that the other scenarios are not throttled.
 */
#include "suite.h"

SCENARIO(rate_limit);

Test(rate_limit, the_refusal_says_when_to_come_back) {
    const char *limited = env("OPENWOP_LIMITED_BASE_URL");
    const char *base = limited != NULL ? limited : env("OPENWOP_BASE_URL");
    int tries = env("OPENWOP_FORCE_RATE_LIMIT") != NULL ? 200 : 50;
    struct reply r = {0};
    for (int i = 0; i < tries && r.status != 429; i++) {
        r = ask_base(base, "GET", "/.well-known/openwop", NULL, NULL);
        cr_assert(r.status == 200 || r.status == 429, "%ld", r.status);
    }
    if (r.status != 429) cr_skip("no 429 within %d requests of the discovery document", tries);
    uint64_t seconds = 0;
    cr_expect(str_u64(header(&r, "Retry-After"), &seconds) && seconds > 0, "Retry-After");
    cr_expect(str_eqc(text_at(r.json, "error"), "rate_limited"));
    struct str scope = text_or_none(r.json, "details.scope");
    cr_expect(at(r.json, "details.scope").p == NULL || str_eqc(scope, "tenant") ||
                  str_eqc(scope, "route") || str_eqc(scope, "global") || str_eqc(scope, "key"),
              STR_FMT, STR_ARG(scope));
    if (at(r.json, "details.retryAfterMs").p != NULL) {
        int64_t ms = int_at(r.json, "details.retryAfterMs") - (int64_t)seconds * 1000;
        cr_expect(ms >= -1500 && ms <= 1500, "retryAfterMs and Retry-After differ by %lld ms",
                  (long long)ms);
    }
}
