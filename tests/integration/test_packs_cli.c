/*
 * test_packs_cli.c: wopr packs, from a folder to an installed pack (PACK-5, PACK-26, PACK-61,
 * PACK-63): reproducible builds, signatures that openssl takes, the four modes of trust, another
 * host's registry, and kill -9 while it installs.
 */
#include "interrupt_kit.h"
#include "pack_kit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME "vendor.acme.tools"

static struct server sv;
static void up(void) {
    static const char *const ARGS[] = {"--address-rate", "10000", NULL};
    server_start(&sv, ARGS);
}
static void down(void) { server_end(&sv); }
TestSuite(packs_cli, .init = up, .fini = down, .timeout = 120);

static const char *in_dir(const char *name) { return fmt("%s/%s", sv.dir, name); }

static void put_file(const char *path, struct str bytes) {
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f, "%s", path);
    cr_assert_eq(fwrite(bytes.p, 1, bytes.n, f), bytes.n);
    fclose(f);
}

/* wopr packs ARGS...; its exit status, and what it says. */
static struct str said;
static int run(const char *const *args) {
    struct str out, err;
    const char *all[24] = {"packs"};
    size_t n = 1;
    for (; *args; args++) all[n++] = *args;
    int rc = program(&sv, all, &out, &err);
    said = arena_printf(test_arena(), STR_FMT STR_FMT, STR_ARG(out), STR_ARG(err));
    return rc;
}
#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})
#define DOES(want, ...)                                                                            \
    do {                                                                                           \
        int does_rc = RUN(__VA_ARGS__);                                                            \
        cr_assert_eq(does_rc, want, "%d " STR_FMT, does_rc, STR_ARG(said));                        \
    } while (0)
static bool says(const char *what) { return strstr(said.p, what) != NULL; }

static const char *tarball(const char *version) {
    const char *path = in_dir(fmt("%s.tgz", version));
    put_file(path, pack_tarball(NAME, version, ""));
    return path;
}

static void folder_make(const char *dir) {
    cr_assert_eq(system(fmt("mkdir -p '%s/dist' '%s/.git' '%s/node_modules/x'", dir, dir, dir)), 0);
    put_file(fmt("%s/pack.json", dir),
             STR("{\"name\":\"" NAME "\",\"version\":\"1.0.0\",\"engines\":{\"openwop\":\"^1\"},"
                 "\"nodes\":[{\"typeId\":\"" NAME ".echo\",\"version\":\"1.0.0\",\"category\":"
                 "\"data\",\"role\":\"pure\"}],\"runtime\":{\"language\":\"wasm\",\"entry\":"
                 "\"dist/e.wasm\"}}"));
    put_file(fmt("%s/dist/e.wasm", dir), STR("abc"));
    put_file(fmt("%s/.git/secret", dir), STR("x"));
    put_file(fmt("%s/node_modules/x/y", dir), STR("x"));
}

Test(packs_cli, the_same_folder_gives_the_same_bytes /* reproducible build */) {
    const char *one = in_dir("one"), *two = in_dir("two");
    folder_make(one);
    folder_make(two);
    cr_assert_eq(
        system(fmt("touch -d 2001-01-01 '%s/pack.json' && chmod 600 '%s/dist/e.wasm'", two, two)),
        0);
    DOES(0, "build", one, "--out", in_dir("one.tgz"));
    cr_expect(says("2 files"), STR_FMT, STR_ARG(said));
    DOES(0, "build", two, "--out", in_dir("two.tgz"));
    cr_expect_eq(system(fmt("cmp '%s' '%s'", in_dir("one.tgz"), in_dir("two.tgz"))), 0);
    put_file(fmt("%s/pack.json", two), STR("{}"));
    DOES(1, "build", two, "--out", in_dir("bad.tgz"));
    cr_expect(says("engines"), STR_FMT, STR_ARG(said));
    cr_expect_neq(access(in_dir("bad.tgz"), F_OK), 0, "nothing is written");
    DOES(2, "build", in_dir("nowhere"));
}

Test(packs_cli, signatures_are_those_of_openssl /* PACK-24, PACK-25 */) {
    const char *tgz = tarball("1.0.0"), *key = in_dir("k"), *pub = in_dir("k.pub");
    DOES(0, "keygen", key);
    DOES(1, "keygen", key);
    cr_expect(says("--force"));
    cr_expect_eq(system(fmt("test $(stat -c %%a '%s') = 600", key)), 0);
    DOES(0, "sign", tgz, "--key", key);
    DOES(0, "verify", tgz, "--public-key", pub);
    if (system("command -v openssl >/dev/null") == 0)
        cr_expect_eq(
            system(fmt("openssl pkeyutl -verify -pubin -inkey '%s' -rawin -in '%s' -sigfile"
                       " '%s.sig' >/dev/null",
                       pub, tgz, tgz)),
            0);
    DOES(0, "keygen", in_dir("other"));
    DOES(1, "verify", tgz, "--public-key", in_dir("other.pub"));
    cr_expect_eq(system(fmt("printf x >>'%s'", tgz)), 0);
    DOES(1, "verify", tgz, "--public-key", pub);
    cr_expect(says("bytes follow"), STR_FMT, STR_ARG(said));
}

Test(packs_cli, the_operator_decides_what_is_installed /* PACK-61, PACK-63 */) {
    const char *tgz = tarball("1.0.0"), *key = in_dir("k"), *pub = in_dir("k.pub");
    struct sha256 d = sha256_of(pack_tarball(NAME, "1.0.0", ""));
    struct buf b;
    buf_init(&b, 64);
    pack_sri(&d, &b);
    const char *sri = fmt("%s", b.p);
    buf_fini(&b);
    DOES(1, "install", tgz);
    cr_expect(says("pack-allow"), "the default is the list: " STR_FMT, STR_ARG(said));
    DOES(1, "install", tgz, "--pack-allow", "vendor.acme,vendor.acme.tool");
    DOES(1, "install", tgz, "--pack-trust", "pinned");
    DOES(1, "install", tgz, "--pack-trust", "pinned", "--integrity",
         "sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    DOES(1, "install", tgz, "--pack-trust", "verified");
    DOES(0, "keygen", key);
    DOES(1, "install", tgz, "--pack-trust", "verified", "--pack-keys", pub);
    DOES(0, "list");
    cr_expect_not(says(NAME), "nothing of the above is installed");
    DOES(0, "install", tgz, "--pack-trust", "pinned", "--integrity", sri);
    DOES(0, "install", tgz, "--pack-trust", "open");
    cr_expect(says("unchanged"));
    DOES(0, "remove", NAME, "1.0.0");
    DOES(1, "remove", NAME, "1.0.0");
    DOES(0, "sign", tgz, "--key", key);
    DOES(0, "keygen", in_dir("other"));
    DOES(1, "install", tgz, "--pack-trust", "allowlist", "--pack-allow", "vendor.acme.*",
         "--pack-keys", in_dir("other.pub"));
    cr_expect(says("no key that is trusted"), "a signature that came along must hold");
    DOES(0, "install", tgz, "--pack-trust", "verified", "--pack-keys", pub);
    DOES(0, "list", "--json");
    cr_expect(says("\"keyId\""));
    struct reply r = ask(&sv, "GET", "/v1/packs", NULL, NULL);
    cr_expect(str_eqc(text_at(r.body, "packs.1.nodes.0.typeId"), NAME ".echo"));
    put_file(tgz, pack_tarball(NAME, "1.0.0", ",\"author\":\"b\""));
    unlink(fmt("%s.sig", tgz));
    DOES(1, "install", tgz, "--pack-trust", "open");
    cr_expect(says("other bytes"));
}

static void hostile(const char *what, const char *manifest, const char *words) {
    struct wopr_error err;
    struct buf gz;
    struct archive_item items[] = {{STR("pack.json"), str_c(manifest)}, {STR("e.wasm"), STR("x")}};
    buf_init(&gz, 1 << 20);
    cr_assert_eq(archive_write(items, 2, &gz, &err), 0);
    put_file(in_dir("h.tgz"), buf_str(&gz));
    buf_fini(&gz);
    DOES(1, "install", in_dir("h.tgz"), "--pack-trust", "open");
    cr_expect(says(words), "%s: " STR_FMT, what, STR_ARG(said));
}
#define HOSTILE(engines, type)                                                                     \
    "{\"name\":\"vendor.evil.x\",\"version\":\"1.0.0\",\"engines\":{\"openwop\":\"" engines        \
    "\"},\"nodes\":[{\"typeId\":\"" type                                                           \
    "\",\"version\":\"1.0.0\",\"category\":\"data\",\"role\":\"pure\"}],\"runtime\":{"             \
    "\"language\":\"wasm\",\"entry\":\"e.wasm\"}}"

Test(packs_cli, no_pack_hides_a_type_that_is_there /* NODE-1, PACK-11 */) {
    DOES(0, "install", tarball("1.0.0"), "--pack-trust", "open");
    hostile("a type of the host", HOSTILE("^1", "core.noop"), "itself");
    hostile("a type of another pack", HOSTILE("^1", NAME ".echo"), "already");
    hostile("another protocol", HOSTILE(">=2", "vendor.evil.x.y"), "protocol");
    DOES(0, "install", tarball("1.1.0"), "--pack-trust", "open");
}

/* PUT a definition of one node with these members in front; the code, "" for a success. */
static const char *put_with(const char *members) {
    struct reply r = ask(
        &sv, "PUT", "/v1/host/wopr/workflows/pinned",
        fmt("{%s\"id\":\"pinned\",\"name\":\"W\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\","
            "\"typeId\":\"core.noop\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},\"config\":{},"
            "\"inputs\":{}}],\"edges\":[],\"triggers\":[],\"variables\":[],\"metadata\":{},"
            "\"settings\":{}}",
            members),
        NULL);
    return r.status == 200 ? "" : text_at(r.body, "error").p;
}
/* Errors of a definition of one node of this type. */
static int64_t findings_of(const char *type) {
    struct reply r = ask(
        &sv, "POST", "/v1/host/wopr/workflows:check",
        fmt("{\"id\":\"c\",\"name\":\"W\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\",\"typeId\":"
            "\"%s\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},\"config\":{},\"inputs\":{}}],"
            "\"edges\":[],\"triggers\":[],\"variables\":[],\"metadata\":{},\"settings\":{}}",
            type),
        NULL);
    return int_at(r.body, "errors");
}
#define AGENT_PACK "core.conformance.agent-pack"

Test(packs_cli, the_packs_of_a_definition_are_resolved_when_it_is_put /* PACK-63 to PACK-66 */) {
    static const struct {
        const char *members, *code;
    } CASES[] = {
        {"\"packs\":{},", ""},
        {"\"packs\":{\"" AGENT_PACK "\":{\"version\":\"1.0.0\"}},\"engines\":{\"openwop\":\"^1\"},",
         ""},
        {"\"packs\":{\"" AGENT_PACK "\":{\"version\":\"1.0.1\"}},", "pack_load_failure"},
        {"\"packs\":{\"" AGENT_PACK "\":{\"version\":\"1.0.0\",\"integrity\":\"sha256-"
         "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"}},",
         "pack_integrity_failure"},
        {"\"packs\":{\"" AGENT_PACK "\":{\"version\":\"^1\"}},", "validation_error"},
        {"\"packs\":{\"" AGENT_PACK "\":\"1.0.0\"},", "validation_error"},
        {"\"packs\":{\"x\":{\"version\":\"1.0.0\"}},", "validation_error"},
        {"\"packs\":[],", "validation_error"},
        {"\"packs\":{\"" NAME "\":{\"version\":\"1.0.0\"}},", ""},
        {"\"packs\":{\"vendor.acme.snake\":{\"version\":\"1.0.0\"}},", "unsupported_runtime"},
        {"\"engines\":{\"openwop\":\">=2\"},", "pack_load_failure"},
        {"\"engines\":{\"openwop\":\"newest\"},", "invalid_engines_range"},
    };
    static const char PYTHON[] =
        "{\"name\":\"vendor.acme.snake\",\"version\":\"1.0.0\",\"engines\":{\"openwop\":\"^1\"},"
        "\"nodes\":[{\"typeId\":\"vendor.acme.snake.n\",\"version\":\"1.0.0\",\"category\":"
        "\"data\",\"role\":\"pure\"}],\"runtime\":{\"language\":\"python\",\"entry\":\"n.py\"}}";
    struct archive_item items[] = {{STR("pack.json"), str_c(PYTHON)}, {STR("n.py"), STR("x")}};
    struct buf gz;
    buf_init(&gz, 1 << 20);
    cr_assert_eq(archive_write(items, 2, &gz, NULL), 0);
    put_file(in_dir("p.tgz"), buf_str(&gz));
    buf_fini(&gz);
    DOES(0, "install", in_dir("p.tgz"), "--pack-trust", "open");
    DOES(0, "install", tarball("1.0.0"), "--pack-trust", "open");
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        cr_expect_str_eq(put_with(CASES[i].members), CASES[i].code, "%s", CASES[i].members);
    cr_assert_str_eq(put_with(CASES[1].members), "");
    struct reply r = ask(&sv, "GET", "/v1/workflows/pinned", NULL, NULL);
    cr_expect(str_eqc(text_at(at(r.body, "engines"), "openwop"), "^1"), "returned unchanged");
    cr_expect_not_null(at(r.body, "packs").p);
    wait_terminal(&sv, create_run(&sv, "pinned", NULL));
    r = ask(&sv, "GET", "/v1/host/wopr/nodes", NULL, NULL);
    const char *where = strstr(r.body.p, NAME ".echo");
    cr_assert_not_null(where, "node types of packs are listed");
    cr_expect_not_null(strstr(where, "\"pack\":\"" NAME "@1.0.0\""));
    cr_expect_not_null(strstr(where, "\"executable\":true"));
    where = strstr(r.body.p, "vendor.acme.snake.n");
    cr_assert_not_null(where);
    cr_expect_not_null(strstr(where, "\"executable\":false"));
    cr_expect_eq(findings_of("vendor.openwop.rust-hello.greet"), 0, "a type of a pack is known");
    cr_expect_eq(findings_of(NAME ".echo"), 0, "its module is judged when a run begins");
    cr_expect_gt(findings_of("vendor.acme.snake.n"), 0, "but not one that nothing executes");
}

Test(packs_cli, a_pack_travels_from_one_host_to_another /* PACK-5, PACK-24, PACK-37 */) {
    static struct server to;
    const char *key = in_dir("k");
    DOES(0, "keygen", key);
    for (int i = 0; i < 3; i++) {
        const char *tgz = tarball(fmt("1.%d.0", i));
        struct str out, err;
        const char *const args[] = {"publish", tgz, "--key", key, NULL};
        cr_assert_eq(program_on(&sv, "packs", args, &out, &err), 0, STR_FMT, STR_ARG(err));
    }
    struct str out, err;
    const char *const yank[] = {"yank", NAME, "1.2.0", "--reason", "leaks", NULL};
    cr_assert_eq(program_on(&sv, "packs", yank, &out, &err), 0, STR_FMT, STR_ARG(err));
    DOES(0, "show", NAME);
    cr_expect(says("signed, latest") && says("yanked"), STR_FMT, STR_ARG(said));
    server_start(&to, NULL);
    const char *from = fmt("http://127.0.0.1:%d", sv.port);
    const char *const install[] = {
        "packs",        "install",  NAME "@^1",    "--from",        from,
        "--pack-trust", "verified", "--pack-keys", in_dir("k.pub"), NULL};
    cr_assert_eq(program(&to, install, &out, &err), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "1.1.0"), "the highest that is not yanked: " STR_FMT,
                       STR_ARG(out));
    const char *const exact[] = {"packs", "install",      NAME "@1.2.0", "--from",
                                 from,    "--pack-trust", "open",        NULL};
    cr_assert_eq(program(&to, exact, &out, &err), 0);
    cr_expect_not_null(strstr(err.p, "yanked: leaks"), "an exact pin still finds it, with a word");
    const char *const none[] = {"packs", "install", "vendor.acme.none", "--from", from, NULL};
    cr_expect_eq(program(&to, none, &out, &err), 1);
    cr_expect_not_null(strstr(err.p, "pack_not_found"), STR_FMT, STR_ARG(err));
    server_end(&to);
}

/* Its duration in microseconds, and whether it was let live so long. */
static int64_t install_for(const char *tgz, int64_t kill_after_us) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        execl(WOPR_PROGRAM, "wopr", "packs", "install", tgz, "--db", sv.db, "--pack-trust", "open",
              (char *)NULL);
        _exit(127);
    }
    if (kill_after_us >= 0) {
        usleep((useconds_t)kill_after_us);
        kill(pid, SIGKILL);
    }
    waitpid(pid, NULL, 0);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (to.tv_sec - from.tv_sec) * INT64_C(1000000) + (to.tv_nsec - from.tv_nsec) / 1000;
}

Test(packs_cli, a_kill_while_it_installs_leaves_all_or_nothing /* PACK-55 */) {
    enum { ROUNDS = 20 };
    static const char *const VERIFY[] = {"verify", NULL};
    const char *tgz = tarball("1.0.0");
    struct str out;
    int64_t whole_us = install_for(tgz, -1);
    DOES(0, "remove", NAME, "1.0.0");
    for (int round = 0; round < ROUNDS; round++) { /* most of them where it writes */
        (void)install_for(tgz, whole_us * (ROUNDS + 2 * round) / (2 * ROUNDS));
        DOES(0, "install", tgz, "--pack-trust", "open");
        DOES(0, "remove", NAME, "1.0.0");
    }
    server_kill(&sv);
    cr_expect_eq(program(&sv, VERIFY, &out, NULL), 0, STR_FMT, STR_ARG(out));
    server_again(&sv);
}
