/* identity_passthrough.c: public scenario identity-passthrough (NODE-31, WF-18). */
#include "suite.h"

SCENARIO(identity_passthrough);

Test(identity_passthrough, json_types_survive) {
    static const char payload[] =
        "{\"text\":\"h\\u00e9llo\",\"whole\":42,\"flag\":true,\"mixed\":[1,\"two\",false,null,"
        "{\"k\":[3.5]}],\"deep\":{\"a\":{\"b\":{\"c\":\"end\"}}}}";
    need_fixture("conformance-identity");
    struct str snap = run_to_end("conformance-identity",
                                 fmt("\"inputs\":{\"payload\":%s}", payload), "completed");
    struct str got = at(snap, "variables.payload");
    cr_assert_not_null(got.p, STR_FMT, STR_ARG(snap));
    cr_expect(json_equal(got, str_c(payload), test_arena()), STR_FMT, STR_ARG(got));
    cr_expect(str_eqc(at(got, "whole"), "42"), "an integer became " STR_FMT,
              STR_ARG(at(got, "whole")));
}
