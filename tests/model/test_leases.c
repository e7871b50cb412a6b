/*
 * test_leases.c: every interleaving of the lease protocol within small bounds, and the guards taken
 * out one by one to see that the checker would notice (STORE-30 to STORE-40, IDEM-5, EVT-2, EVT-7).
 */
#include "model/lease_model.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(lease_model, .timeout = 600);

static bool blind;

static struct model_result check(unsigned hosts, unsigned crashes, unsigned sends, unsigned epochs,
                                 unsigned without) {
    const struct model_config cfg = {hosts, crashes, sends, epochs, without, blind};
    struct model_result r;
    model_check(&cfg, &r);
    fprintf(stderr, "model: %u hosts, %u crashes, %u sends, %u epochs: %zu states%s%s\n", hosts,
            crashes, sends, epochs, r.states, r.broken ? "; " : "", r.broken ? r.broken : "");
    return r;
}

static void expect_sound(struct model_result r) {
    cr_expect_null(r.broken, "%s\nafter: %s", r.broken, r.story);
}

static void expect_broken(struct model_result r, char invariant) {
    cr_assert_not_null(r.broken, "the guard was taken out and nobody noticed");
    cr_expect_eq(r.broken[0], invariant, "%s\nafter: %s", r.broken, r.story);
    cr_expect_gt(r.steps_to_it, 0u);
}

Test(lease_model, two_hosts_with_two_crashes_and_two_sends) { expect_sound(check(2, 2, 2, 8, 0)); }
Test(lease_model, three_hosts_with_a_crash_and_a_send) { expect_sound(check(3, 1, 1, 6, 0)); }
Test(lease_model, three_hosts_without_crashes_and_two_sends) { expect_sound(check(3, 0, 2, 6, 0)); }

/* Fencing does not rest on who claims when: a claim that relies on nothing costs work, not truth.
 */
Test(lease_model, a_claim_too_early_is_harmless) {
    expect_sound(check(2, 1, 2, 7, NO_GUARD_IN_CLAIM));
}

Test(lease_model, without_the_epoch_an_old_holder_appends) {
    expect_broken(check(2, 0, 0, 6, NO_EPOCH_IN_APPEND), 'E');
}
Test(lease_model, without_epoch_and_sequence_a_node_completes_twice) {
    blind = true;
    expect_sound(
        check(2, 0, 0, 6, NO_EPOCH_IN_APPEND)); /* the sequence alone keeps the log whole */
    expect_broken(check(2, 0, 0, 6, NO_EPOCH_IN_APPEND | NO_SEQ_IN_APPEND), 'S');
}
Test(lease_model, without_a_new_epoch_two_hosts_hold_the_same_lease) {
    expect_broken(check(2, 0, 0, 6, NO_RAISE_IN_CLAIM), 'E');
}
Test(lease_model, without_the_stored_answer_a_command_has_two_effects) {
    expect_broken(check(2, 0, 2, 6, NO_IDEM_IN_APPEND), 'C');
}
Test(lease_model, an_answer_before_the_commit_may_be_untrue) {
    expect_broken(check(2, 1, 1, 6, ANSWER_BEFORE_COMMIT), 'C');
}
Test(lease_model, without_takeover_a_run_is_stuck) {
    expect_broken(check(2, 2, 0, 8, NO_RELEASE_BY_DEATH), 'L');
}
