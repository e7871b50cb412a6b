/*
 * untrusted.c: text of other systems, marked for whoever reads it next (MCP-7).
 */
#include "nodes/untrusted.h"

/* "<" of a mark, of ours or one that looks like it: then, after blanks and slashes, our word. */
static bool opens_mark(struct str s) {
    size_t i = 1;
    while (i < s.n && i < 64 && strchr("/ \t\r\n", s.p[i]) && s.p[i] != '\0') i++;
    struct str word = STR("UNTRUSTED");
    return s.n - i >= word.n && str_eq_nocase(str_n(s.p + i, word.n), word);
}

static void text_add(struct buf *b, struct str text) {
    bool in_mark = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '<' && opens_mark(str_n(text.p + i, text.n - i))) {
            buf_addz(b, "&lt;");
            in_mark = true;
        } else if (c == '>' && in_mark) {
            buf_addz(b, "&gt;");
            in_mark = false;
        } else {
            buf_addc(b, c);
        }
    }
}

static void name_add(struct buf *b, struct str name) {
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c == '"') buf_addz(b, "&quot;");
        else if (c == '<') buf_addz(b, "&lt;");
        else if (c == '>') buf_addz(b, "&gt;");
        else if (c == '&') buf_addz(b, "&amp;");
        else buf_addc(b, c < 0x20 ? ' ' : (char)c);
    }
}

void untrusted_render(struct buf *b, const char *what, struct str name, struct str text) {
    buf_addf(b, "<UNTRUSTED %s=\"", what);
    name_add(b, name);
    buf_addz(b, "\">");
    text_add(b, text);
    buf_addz(b, "</UNTRUSTED>");
}
