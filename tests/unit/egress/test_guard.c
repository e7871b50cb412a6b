/* test_guard.c: where the host may be sent.  HOOK-16, HOOK-17. */
#include "egress/egress.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>

static bool ok4(const char *text, const struct egress_allow *allow, bool *listed) {
    struct sockaddr_in a = {.sin_family = AF_INET};
    cr_assert_eq(inet_pton(AF_INET, text, &a.sin_addr), 1, "%s", text);
    return egress_address_ok((const struct sockaddr *)&a, allow, listed);
}

static bool ok6(const char *text, const struct egress_allow *allow, bool *listed) {
    struct sockaddr_in6 a = {.sin6_family = AF_INET6};
    cr_assert_eq(inet_pton(AF_INET6, text, &a.sin6_addr), 1, "%s", text);
    return egress_address_ok((const struct sockaddr *)&a, allow, listed);
}

Test(guard, edges_of_every_refused_block /* HOOK-16, HOOK-17 */) {
    static const struct egress_allow none = {.n = 0};
    static const char *const refused[] = {
        "0.0.0.0",         "0.255.255.255",   "10.0.0.0",       "10.255.255.255",
        "100.64.0.0",      "100.127.255.255", "127.0.0.1",      "127.255.255.255",
        "169.254.169.254", "172.16.0.0",      "172.31.255.255", "192.0.0.1",
        "192.168.0.1",     "192.168.255.255", "198.18.0.0",     "198.19.255.255",
        "224.0.0.1",       "239.255.255.255", "240.0.0.1",      "255.255.255.255"};
    static const char *const fine[] = {"1.1.1.1",         "9.255.255.255",   "11.0.0.0",
                                       "100.63.255.255",  "100.128.0.0",     "128.0.0.0",
                                       "169.253.255.255", "169.255.0.0",     "172.15.255.255",
                                       "172.32.0.0",      "192.167.255.255", "192.169.0.0",
                                       "198.17.255.255",  "198.20.0.0",      "223.255.255.255"};
    bool listed;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        cr_expect_not(ok4(refused[i], &none, &listed), "%s", refused[i]);
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        cr_expect(ok4(fine[i], &none, &listed), "%s", fine[i]);
}

Test(guard, an_ipv6_address_is_judged_by_what_it_carries /* HOOK-17 */) {
    static const struct egress_allow none = {.n = 0};
    static const char *const refused[] = {"::",
                                          "::1",
                                          "::ffff:10.0.0.1",
                                          "::ffff:127.0.0.1",
                                          "64:ff9b::10.1.2.3",
                                          "64:ff9b::1.1.1.1",
                                          "::ffff:0:1.1.1.1",
                                          "::5efe:1.1.1.1",
                                          "::ffff:168.63.129.16",
                                          "2002:a83f:8110::1",
                                          "2002:a00:1::1",
                                          "fe80::1",
                                          "fc00::1",
                                          "fdff::1",
                                          "ff02::1",
                                          "2001:db8::1",
                                          "::127.0.0.1"};
    static const char *const fine[] = {"2606:4700::1", "::ffff:1.1.1.1", "2002:101:101::1"};
    bool listed;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        cr_expect_not(ok6(refused[i], &none, &listed), "%s", refused[i]);
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        cr_expect(ok6(fine[i], &none, &listed), "%s", fine[i]);
}

Test(guard, the_allow_list_opens_what_it_names_and_no_more) {
    struct egress_allow a = {.n = 0};
    struct wopr_error err;
    bool listed;
    cr_assert_eq(egress_allow_parse(STR("127.0.0.1, 10.1.0.0/16,fd00::/8 ,"), &a, &err), 0);
    cr_assert_eq(a.n, 3u);
    cr_expect(ok4("127.0.0.1", &a, &listed) && listed);
    cr_expect_not(ok4("127.0.0.2", &a, &listed));
    cr_expect(ok4("10.1.255.255", &a, &listed) && listed);
    cr_expect_not(ok4("10.2.0.0", &a, &listed));
    cr_expect(ok6("fd12::1", &a, &listed) && listed);
    cr_expect(ok6("::ffff:10.1.2.3", &a, &listed) && listed, "the mapped form is the same host");
    cr_expect(ok4("1.1.1.1", &a, &listed) && !listed);
    static const char *const bad[] = {"localhost", "10.0.0.0/33", "::/129",
                                      "1.2.3",     "/8",          "1.2.3.4/x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(egress_allow_parse(str_c(bad[i]), &a, &err), WOPR_E_CONFIG, "%s", bad[i]);
    cr_expect_eq(a.n, 3u, "a list that is refused changes nothing");
}

Test(guard, urls /* HOOK-16, HOOK-17 */) {
    static const struct {
        const char *url;
        bool without, with; /* a list with 127.0.0.1 */
    } rows[] = {
        {"https://example.org/hook?x=1", true, true},
        {"https://example.org:443/", true, true},
        {"https://example.org:8443/", false, true},
        {"http://example.org/", false, true}, /* judged again when the socket is opened */
        {"http://127.0.0.1:8080/", false, true},
        {"https://127.0.0.1/", false, true},
        {"http://127.0.0.2/", false, false},
        {"https://192.168.1.1/", false, false},
        {"https://localhost/", false, true},
        {"https://metadata/", false, false},
        {"https://metadata.google.internal./x", false, false},
        {"https://u@example.org/", false, false},
        {"file:///etc/passwd", false, false},
        {"gopher://example.org/", false, false},
        {"//example.org/", false, false},
        {"", false, false},
        {"https://exa mple.org/", false, false},
        {"https://[fe80::1%25eth0]/", false, false},
        {"https://0177.0.0.1/", false, true},
        {"https://127.1/", false, true},
    };
    struct egress_allow none = {.n = 0}, one = {.n = 0};
    struct wopr_error err;
    cr_assert_eq(egress_allow_parse(STR("127.0.0.1"), &one, &err), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct str url = str_c(rows[i].url);
        cr_expect_eq(egress_url_check(url, &none, &err) == 0, rows[i].without, "%s", rows[i].url);
        cr_expect_eq(egress_url_check(url, &one, &err) == 0, rows[i].with, "%s (listed)",
                     rows[i].url);
    }
}
