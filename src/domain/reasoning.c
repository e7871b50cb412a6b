/*
 * reasoning.c: see reasoning.h.
 */
#include "domain/reasoning.h"

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

struct str reasoning_words(struct str text, int64_t max, int64_t *words) {
    size_t end = 0;
    *words = 0;
    for (size_t i = 0; i < text.n;) {
        while (i < text.n && is_space(text.p[i])) i++;
        if (i == text.n || *words == max) break;
        while (i < text.n && !is_space(text.p[i])) i++;
        end = i;
        ++*words;
    }
    return str_n(text.p, end);
}

struct str reasoning_summary(struct str text, int64_t *words) {
    if (text.n > REASONING_BYTES_MAX)
        for (text.n = REASONING_BYTES_MAX; text.n > 0 && (text.p[text.n] & 0xc0) == 0x80;) text.n--;
    return reasoning_words(text, AGENT_TOKENS_MAX, words);
}
