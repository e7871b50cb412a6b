/*
 * workflow_words.c: the words that a definition says: its strings, member names and numbers, and
 * what stands between quotes in its expressions.  Whoever may read a definition knows them, so a
 * sensitive value that is one of them is no secret by its text (OBS-71).
 */
#include "codec/json.h"
#include "domain/workflow_int.h"

#include <stdlib.h>

#define WORD_SEED 0x77

struct words {
    struct wfc *c;
    uint64_t *v;
    size_t n, cap;
};

static bool word_add(struct words *w, struct str word) {
    if (word.n == 0 || word.n > WF_WORD_MAX) return true;
    if (w->n == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 64;
        uint64_t *v = ARENA_ARRAY(w->c->tmp, uint64_t, cap);
        if (!v) return false;
        if (w->n > 0) memcpy(v, w->v, w->n * sizeof *v);
        w->v = v;
        w->cap = cap;
    }
    w->v[w->n++] = str_hash(word, WORD_SEED);
    return true;
}

/* 'word' or "word" in an expression: each pair of neighbouring quotes. */
static bool quoted_add(struct words *w, struct str text, char quote) {
    size_t from = text.n;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != quote) continue;
        if (from < i && !word_add(w, str_n(text.p + from, i - from))) return false;
        from = i + 1;
    }
    return true;
}

static bool string_add(struct words *w, struct str raw) {
    struct str text = json_string(raw, w->c->tmp);
    return text.p && word_add(w, text) && quoted_add(w, text, '\'') && quoted_add(w, text, '"');
}

/* End of the string or number that begins at t.p[at]. */
static size_t token_end(struct str t, size_t at) {
    bool is_string = t.p[at] == '"';
    for (at++; at < t.n; at++) {
        if (is_string && t.p[at] == '\\') at++;
        else if (is_string ? t.p[at] == '"' : strchr(",]} \t\r\n", t.p[at]) != NULL) break;
    }
    return is_string && at < t.n ? at + 1 : at < t.n ? at : t.n;
}

/* All strings and numbers in a JSON text. */
static bool tokens_add(struct words *w, struct str t) {
    for (size_t i = 0, end; i < t.n; i = end) {
        end = i + 1;
        bool number = t.p[i] == '-' || (t.p[i] >= '0' && t.p[i] <= '9');
        if (t.p[i] != '"' && !number) continue;
        end = token_end(t, i);
        struct str raw = str_n(t.p + i, end - i);
        if (number ? !word_add(w, raw) : !string_add(w, raw)) return false;
    }
    return true;
}

static int hash_order(const void *x, const void *y) {
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

/* Defaults of what is sensitive: not to be told by being a word. */
static bool hidden_add(struct words *w) {
    const struct workflow *wf = w->c->w;
    bool ok = true;
    for (size_t i = 0; ok && i < wf->vars_nr; i++)
        if (wf->vars[i].sensitive && wf->vars[i].has_default)
            ok = tokens_add(w, wf->vars[i].default_value);
    for (size_t i = 0; ok && i < wf->channels_nr; i++)
        if (wf->channels[i].sensitive && wf->channels[i].default_value.n > 0)
            ok = tokens_add(w, wf->channels[i].default_value);
    return ok;
}

static bool hash_in(const uint64_t *v, size_t n, uint64_t key) {
    return n > 0 && bsearch(&key, v, n, sizeof key, hash_order) != NULL;
}

int wfc_words(struct wfc *c) {
    struct words w = {.c = c}, hidden = {.c = c};
    if (!tokens_add(&w, c->w->text) || !hidden_add(&hidden)) return wfc_memory(c);
    if (hidden.n > 0) qsort(hidden.v, hidden.n, sizeof *hidden.v, hash_order);
    if (w.n > 0) qsort(w.v, w.n, sizeof *w.v, hash_order);
    c->w->words = ARENA_ARRAY(c->w->arena, uint64_t, w.n + 1);
    if (!c->w->words) return wfc_memory(c);
    for (size_t i = 0; i < w.n; i++)
        if ((i == 0 || w.v[i] != w.v[i - 1]) && !hash_in(hidden.v, hidden.n, w.v[i]))
            c->w->words[c->w->words_nr++] = w.v[i];
    return 0;
}

bool workflow_says(const struct workflow *w, struct str word) {
    uint64_t key = str_hash(word, WORD_SEED);
    return word.n <= WF_WORD_MAX && hash_in(w->words, w->words_nr, key);
}
