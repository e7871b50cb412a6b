/* approval_payload.c: public scenario approval-payload; its only test that meets a host (CAP-4). */
#include "suite.h"

SCENARIO(approval_payload);

Test(approval_payload, document_does_not_use_the_legacy_action_name) {
    cr_expect_not(has(document(), "\"edit\""));
}
