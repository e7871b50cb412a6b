/*
 * test_resume.c: words of texts and the ranking of earlier work (V-TX, V-RR).
 */
#include "kit.h"
#include "workrail/resume.h"

/* The page names some characters by their code points. */
static const char *const TEXTS[] = {
    "Hello World 123",
    "my-feature_branch",
    "\xEF\xAC\x81nd \xEF\xBC\xA6\xEF\xBD\x95\xEF\xBD\x8C\xEF\xBD\x8C",
    "\xEF\xAC\x80",
    ("Stra\xC3\x9F"
     "e"),
    "\xC4\xB0stanbul",
    "K2 \xE2\x84\xAA",
    "login  OAuth!",
    "wr.coding-task",
    "\xCE\x91\xCE\x92\xCE\x93",
    "x\xC2\xB2",
    "L'\xC3\xA9t\xC3\xA9"};

Test(workrail_resume, v_tx_1_to_12_words_wr_180, .init = kit_up, .fini = kit_down) {
    for (int i = 1; i <= 12; i++) {
        const char *id = kit_id("TX", i);
        struct str want = kit_plain(id, 1), head, v[8];
        size_t nr = 0;
        for (struct str rest = want; rest.n > 0 && !str_eqc(want, "none");) {
            struct str more = STR_NONE;
            if (!str_cut(rest, ',', &head, &more)) head = rest;
            v[nr++] = str_trim(head);
            rest = more;
        }
        nr = wr_sort_unique(v, nr);
        struct str out = arena_printf(kit_a, "%s", nr > 0 ? "\n" : "");
        for (size_t k = 0; k < nr; k++)
            out = arena_printf(kit_a, STR_FMT STR_FMT "\n", STR_ARG(out), STR_ARG(v[k]));
        kit_same(id, wr_tokens(str_c(TEXTS[i - 1]), kit_a), out);
    }
}

Test(workrail_resume, long_texts_have_the_words_of_their_pieces, .init = kit_up, .fini = kit_down) {
    struct str text = kit_repeat("\xC3\xA9t\xC3\xA9 Word\xEF\xBC\x91 ", 5000, "");
    kit_same("pieces", wr_tokens(text, kit_a), STR("\nt\nword1\n"));
    cr_expect_eq(wr_tokens(kit_repeat("\xCC\x81", 3000, ""), kit_a).n, 0);
    cr_expect_not_null(wr_tokens(STR(""), kit_a).p);
}

/* --- V-RR --- */

#define H1 "1111111111111111111111111111111111111111"
#define H2 "2222222222222222222222222222222222222222"
static const struct stored {
    const char *name, *head, *branch, *notes, *workflow;
    int64_t activity;
} STORE[] = {{"A", H1, "main", "Fixed login redirect", "project.auth_review Auth review", 10},
             {"B", H2, "feature/login-fix", "Investigated oauth token refresh",
              "project.bug_hunt Bug hunt", 50},
             {"C", H1, "feature/login", "", "wr.coding_task Coding task", 30},
             {"D", NULL, NULL, "login oauth notes", "project.auth_review Auth review", 99},
             {"F", NULL, NULL, "", "project.docs Docs", 99}};

static void rank(const char *id, const char *query, const char *branch, const char *head,
                 const char *want) {
    struct wr_ranking r;
    struct buf b;
    buf_init(&b, 256);
    cr_assert_eq(wr_ranking_begin(&r, str_c(query), str_c(branch), str_c(head), kit_a), 0);
    for (size_t i = 0; i < sizeof STORE / sizeof *STORE; i++) {
        const struct stored *t = &STORE[(i * 3 + 1) % 5]; /* in any order */
        struct wr_summary s = {.session_id = str_c(t->name),
                               .run_id = STR("run_1"),
                               .activity = t->activity,
                               .head_sha = str_c(t->head),
                               .branch = str_c(t->branch),
                               .note_tokens = wr_tokens(str_c(t->notes), kit_a),
                               .workflow_tokens = wr_tokens(str_c(t->workflow), kit_a)};
        cr_assert_eq(wr_ranking_offer(&r, &s), 0);
    }
    for (size_t i = 0; i < r.nr; i++)
        buf_addf(&b, "%s" STR_FMT "(%d)", i > 0 ? " " : "", STR_ARG(r.best[i].summary.session_id),
                 r.best[i].tier);
    kit_same(id, buf_str(&b), str_c(want));
    cr_expect_eq(r.total, 5);
    /* The page has the same order, with tiers where they matter. */
    struct str page = kit_plain(id, 1);
    for (size_t i = 0, at = 0; i < r.nr; i++) {
        char name = r.best[i].summary.session_id.p[0];
        if (strcmp(id, "V-RR-13") == 0 || memcmp(page.p, "all", 3) == 0) continue;
        while (at < page.n &&
               !(page.p[at] == name && (at + 1 == page.n || page.p[at + 1] == '(' ||
                                        page.p[at + 1] == ' ' || page.p[at + 1] == ',')))
            at++;
        cr_expect(at < page.n, "%s: the page has %c elsewhere", id, name);
    }
    buf_fini(&b);
}

Test(workrail_resume, v_rr_1_to_12_order_wr_176, .init = kit_up, .fini = kit_down) {
    rank("V-RR-1", NULL, NULL, H1, "C(1) A(1) D(5) F(5) B(5)");
    rank("V-RR-2", NULL, "feature/login", NULL, "B(2) C(2) D(5) F(5) A(5)");
    rank("V-RR-3", "oauth login", NULL, NULL, "D(3) F(5) B(5) C(5) A(5)");
    rank("V-RR-4", "auth review", NULL, NULL, "D(4) A(4) F(5) B(5) C(5)");
    rank("V-RR-5", "\xE2\x80\xA6", NULL, NULL, "D(5) F(5) B(5) C(5) A(5)");
    rank("V-RR-6", "auth review", NULL, H1, "C(1) A(1) D(4) F(5) B(5)");
    rank("V-RR-7", NULL, "feature/login-fix-2", NULL, "B(2) C(2) D(5) F(5) A(5)");
    rank("V-RR-8", "LOGIN", NULL, NULL, "D(3) A(3) F(5) B(5) C(5)");
    rank("V-RR-9", "truncated", NULL, NULL, "D(5) F(5) B(5) C(5) A(5)");
    rank("V-RR-10", NULL, "feat", NULL, "B(2) C(2) D(5) F(5) A(5)");
    rank("V-RR-11", "log", NULL, NULL, "D(5) F(5) B(5) C(5) A(5)");
    rank("V-RR-12", "", " ", "", "D(5) F(5) B(5) C(5) A(5)");
}

Test(workrail_resume, v_rr_13_five_of_seven_and_why_wr_175_wr_179, .init = kit_up,
     .fini = kit_down) {
    struct wr_ranking r;
    struct str tokens[WR_CANDIDATES_MAX], json;
    cr_assert_eq(wr_ranking_begin(&r, STR("auth review"), STR_NONE, STR(H1), kit_a), 0);
    for (int i = 0; i < 7; i++) {
        struct wr_summary s = {.session_id = arena_printf(kit_a, "sess_%d", i),
                               .run_id = STR("run_1"),
                               .activity = i,
                               .head_sha = i == 3 ? STR(H1) : STR_NONE,
                               .note_tokens = STR(""),
                               .workflow_tokens = wr_tokens(STR("Auth review"), kit_a)};
        cr_assert_eq(wr_ranking_offer(&r, &s), 0);
    }
    for (size_t i = 0; i < WR_CANDIDATES_MAX; i++) tokens[i] = STR("st");
    cr_assert_eq(wr_ranking_reply(&r, tokens, kit_a, &json), 0);
    kit_same("V-RR-13", json_get(json, "totalEligible"), STR("7"));
    kit_same("V-RR-13", json_path_get(json, STR("candidates.0.sessionId"), kit_a),
             STR("\"sess_3\""));
    kit_same("V-RR-6", json_path_get(json, STR("candidates.0.whyMatched"), kit_a),
             STR("[\"matched_head_sha\",\"matched_workflow_id\"]"));
    kit_same("V-RR-13", json_path_get(json, STR("candidates.4.sessionId"), kit_a),
             STR("\"sess_2\""));
    cr_expect(json_path_get(json, STR("candidates.5"), kit_a).p == NULL);
}
