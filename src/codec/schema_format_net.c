/*
 * schema_format_net.c: formats of mail and host names and of addresses.  Layer: codec.
 * Internationalised labels: IDNA 2008 by the IDN support of GnuTLS, which follows the lookup
 * protocol and so omits the contextual rules of RFC 5892, appendix A; those are here.  The Bidi
 * rule is checked label by label, not across a name.
 */
#include "codec/schema_format.h"

#include <gnutls/gnutls.h>

enum { NAME_BYTES_MAX = 253, LABEL_BYTES_MAX = 63, LOCAL_BYTES_MAX = 64 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_alnum(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

uint32_t schema_utf8_next(struct str *s) {
    const unsigned char *p = (const unsigned char *)s->p;
    size_t n = s->n == 0 ? 0 : p[0] < 0x80 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (n == 0 || n > s->n || !utf8_valid(str_n(s->p, n))) return UINT32_MAX;
    uint32_t cp = n == 1 ? p[0] : p[0] & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; i++) cp = cp << 6 | (p[i] & 0x3Fu);
    *s = str_n(s->p + n, s->n - n);
    return cp;
}

/* ---- host names ---- */

static bool is_label(struct str s) {
    if (s.n == 0 || s.n > LABEL_BYTES_MAX || s.p[0] == '-' || s.p[s.n - 1] == '-') return false;
    for (size_t i = 0; i < s.n; i++)
        if (!is_alnum(s.p[i]) && s.p[i] != '-') return false;
    return true;
}

static bool has_prefix_nocase(struct str s, struct str prefix) {
    return s.n >= prefix.n && str_eq_nocase(str_n(s.p, prefix.n), prefix);
}

/* ---- contextual rules ---- */

struct range {
    uint32_t first, last;
};

static const struct range GREEK[] = {{0x370, 0x3FF}, {0x1F00, 0x1FFF}, {0, 0}};
static const struct range HEBREW[] = {{0x591, 0x5F4}, {0xFB1D, 0xFB4F}, {0, 0}};
static const struct range KANA_HAN[] = {{0x3041, 0x309F},
                                        {0x30A1, 0x30FA},
                                        {0x30FC, 0x30FF},
                                        {0x31F0, 0x31FF},
                                        {0x3005, 0x3005},
                                        {0x3007, 0x3007},
                                        {0x3400, 0x4DBF},
                                        {0x4E00, 0x9FFF},
                                        {0xF900, 0xFAFF},
                                        {0x20000, 0x3FFFD},
                                        {0, 0}};
/* Exceptions of RFC 5892, section 2.6, and controls. */
static const struct range DISALLOWED[] = {
    {0, 0x1F},        {0x7F, 0x9F},     {0x640, 0x640},   {0x7FA, 0x7FA},
    {0x302E, 0x302F}, {0x3031, 0x3035}, {0x303B, 0x303B}, {0, 0}};

static bool in_ranges(uint32_t cp, const struct range *r) {
    for (; r->last != 0; r++)
        if (cp >= r->first && cp <= r->last) return true;
    return false;
}

/* One code point between its neighbours (0: none). */
static bool is_placed(uint32_t before, uint32_t cp, uint32_t after, bool has_kana_han) {
    switch (cp) {
    case 0xB7:
        return before == 'l' && after == 'l'; /* middle dot: Catalan */
    case 0x375:
        return in_ranges(after, GREEK); /* keraia */
    case 0x5F3:
    case 0x5F4:
        return in_ranges(before, HEBREW); /* geresh, gershayim */
    case 0x30FB:
        return has_kana_han; /* katakana middle dot */
    default:
        return !in_ranges(cp, DISALLOWED);
    }
}

static bool has_valid_context(struct str label) {
    bool kana_han = false, arabic = false, extended = false, ascii = false;
    for (struct str s = label; s.n > 0;) {
        uint32_t cp = schema_utf8_next(&s);
        if (cp == UINT32_MAX) return false;
        kana_han |= in_ranges(cp, KANA_HAN);
        arabic |= cp >= 0x660 && cp <= 0x669;
        extended |= cp >= 0x6F0 && cp <= 0x6F9;
        ascii |= cp >= '0' && cp <= '9';
    }
    if (arabic && (extended || ascii)) return false; /* both kinds of digits; Bidi rule 4 */
    uint32_t before = 0;
    for (struct str s = label; s.n > 0;) {
        uint32_t cp = schema_utf8_next(&s);
        struct str ahead = s;
        uint32_t after = ahead.n > 0 ? schema_utf8_next(&ahead) : 0;
        if (!is_placed(before, cp, after, kana_han)) return false;
        before = cp;
    }
    return true;
}

/* A label in its ASCII form must be what its Unicode form encodes to. */
static bool is_a_label(struct str s) {
    gnutls_datum_t wide = {NULL, 0}, back = {NULL, 0};
    bool ok = false;
    if (gnutls_idna_reverse_map(s.p, (unsigned)s.n, &wide, 0) != 0) goto done;
    if (gnutls_idna_map((const char *)wide.data, wide.size, &back, GNUTLS_IDNA_FORCE_2008) != 0)
        goto done;
    struct str unicode = str_n((const char *)wide.data, wide.size);
    ok = str_eq_nocase(str_n((const char *)back.data, back.size), s) && unicode.n > 0 &&
         !has_prefix_nocase(unicode, STR("xn--")) && has_valid_context(unicode);
done:
    gnutls_free(wide.data);
    gnutls_free(back.data);
    return ok;
}

bool schema_format_hostname(struct str s) {
    struct str label, rest = s;
    if (s.n == 0 || s.n > NAME_BYTES_MAX) return false;
    for (bool more = true; more;) {
        label = rest;
        more = str_cut(rest, '.', &label, &rest);
        if (!is_label(label)) return false;
        if (has_prefix_nocase(label, STR("xn--")) && !is_a_label(label)) return false;
    }
    return true;
}

static bool is_dot(uint32_t cp) {
    return cp == '.' || cp == 0x3002 || cp == 0xFF0E || cp == 0xFF61;
}

static bool is_u_label(struct str s, size_t *ascii_len) {
    gnutls_datum_t ascii = {NULL, 0};
    bool wide = false;
    for (size_t i = 0; i < s.n; i++) wide |= (unsigned char)s.p[i] >= 0x80;
    if (!wide) {
        *ascii_len = s.n;
        return schema_format_hostname(s) && memchr(s.p, '.', s.n) == NULL;
    }
    bool ok = gnutls_idna_map(s.p, (unsigned)s.n, &ascii, GNUTLS_IDNA_FORCE_2008) == 0 &&
              ascii.size <= LABEL_BYTES_MAX && s.p[0] != '-' && s.p[s.n - 1] != '-' &&
              has_valid_context(s);
    *ascii_len = ascii.size;
    gnutls_free(ascii.data);
    return ok;
}

bool schema_format_idn_hostname(struct str s) {
    size_t total = 0, len = 0;
    if (s.n == 0 || s.n > 4 * NAME_BYTES_MAX || !utf8_valid(s)) return false;
    for (bool more = true; more;) {
        struct str label = s;
        more = false;
        while (s.n > 0 && !more) {
            struct str before = s;
            more = is_dot(schema_utf8_next(&s));
            label.n = (size_t)((more ? before.p : s.p) - label.p);
        }
        if (label.n == 0 || !is_u_label(label, &len)) return false;
        total += len + 1;
    }
    return total <= NAME_BYTES_MAX + 1;
}

/* ---- addresses ---- */

bool schema_format_ipv4(struct str s) {
    struct str part, rest = s;
    size_t n = 0;
    for (bool more = true; more; n++) {
        uint64_t v;
        part = rest;
        more = str_cut(rest, '.', &part, &rest);
        if (part.n < 1 || part.n > 3 || (part.n > 1 && part.p[0] == '0')) return false;
        if (!str_u64(part, &v) || v > 255) return false;
    }
    return n == 4;
}

static bool is_hex4(struct str s) {
    if (s.n < 1 || s.n > 4) return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!is_digit(c) && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F')) return false;
    }
    return true;
}

/* Colon-separated groups of one side; the number of 16-bit groups, or 99. */
static size_t ipv6_groups(struct str s, bool last) {
    struct str part, rest = s;
    size_t n = 0;
    if (s.n == 0) return 0;
    for (bool more = true; more; n++) {
        part = rest;
        more = str_cut(rest, ':', &part, &rest);
        if (is_hex4(part)) continue;
        if (more || !last || !schema_format_ipv4(part)) return 99;
        n++;
    }
    return n;
}

bool schema_format_ipv6(struct str s) {
    if (s.n < 2 || s.n > 45) return false;
    for (size_t i = 0; i + 1 < s.n; i++) {
        if (s.p[i] != ':' || s.p[i + 1] != ':') continue;
        size_t left = ipv6_groups(str_n(s.p, i), false);
        size_t right = ipv6_groups(str_n(s.p + i + 2, s.n - i - 2), true);
        return left + right <= 7;
    }
    return ipv6_groups(s, true) == 8;
}

/* ---- mail: RFC 5321 mailbox, RFC 6531 with wide ---- */

static bool is_atext(char c, bool wide) {
    if ((unsigned char)c >= 0x80) return wide;
    return is_alnum(c) || (c != '\0' && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL);
}

static bool is_dot_string(struct str s, bool wide) {
    bool start = true;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.') {
            if (start) return false;
            start = true;
            continue;
        }
        if (!is_atext(s.p[i], wide)) return false;
        start = false;
    }
    return !start;
}

static bool is_quoted_string(struct str s, bool wide) {
    if (s.n < 2 || s.p[0] != '"' || s.p[s.n - 1] != '"') return false;
    for (size_t i = 1; i + 1 < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"' || c < 0x20 || c == 0x7F || (c >= 0x80 && !wide)) return false;
        if (c != '\\') continue;
        if (++i + 1 >= s.n || s.p[i] < 0x20 || s.p[i] > 0x7E) return false;
    }
    return true;
}

static bool is_mail_domain(struct str s, bool wide) {
    if (s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']') {
        struct str in = str_n(s.p + 1, s.n - 2);
        if (!has_prefix_nocase(in, STR("IPv6:"))) return schema_format_ipv4(in);
        return schema_format_ipv6(str_n(in.p + 5, in.n - 5));
    }
    return wide ? schema_format_idn_hostname(s) : schema_format_hostname(s);
}

static bool is_mailbox(struct str s, bool wide) {
    struct str local, domain;
    if (!str_cut_last(s, '@', &local, &domain)) return false;
    if (local.n == 0 || local.n > LOCAL_BYTES_MAX) return false;
    if (wide && !utf8_valid(s)) return false;
    bool ok = local.p[0] == '"' ? is_quoted_string(local, wide) : is_dot_string(local, wide);
    return ok && is_mail_domain(domain, wide);
}

bool schema_format_email(struct str s) { return is_mailbox(s, false); }
bool schema_format_idn_email(struct str s) { return is_mailbox(s, true); }
