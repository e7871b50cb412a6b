/*
 * state_conversation.c: the fold of conversations (CONV-7, CONV-14): which are open, where they
 * stand, and the event that the next one follows from.
 */
#include "base/mem.h"
#include "domain/conversation.h"
#include "domain/state_internal.h"

const struct conversation *run_conversation_of(const struct run_state *s, int node) {
    return s->nodes[node].conversation;
}

static struct conversation *conversation_find(const struct run_state *s, struct str id) {
    struct conversation *found = NULL;
    for (size_t i = 0; i < s->wf->nodes_nr; i++) {
        struct conversation *c = s->nodes[i].conversation;
        if (!c) continue;
        if (id.n > 0 && str_eq(text_str(&c->id), id)) return c;
        if (id.n > 0 || c->closed) continue;
        if (found) return NULL;
        found = c;
    }
    return found;
}

const struct conversation *run_conversation(const struct run_state *s, struct str id) {
    return conversation_find(s, id);
}

void conversation_free(struct conversation *c) {
    if (!c) return;
    text_clear(&c->id);
    mem_free(c);
}

/* The event is the last one of the conversation. */
static void conversation_touch(struct fold *f, struct conversation *c) {
    const struct node_state *n = &f->run->nodes[f->node];
    c->seq = f->event->seq;
    c->effects = n->effects + (n->status == NODE_RUNNING); /* counted after the fold */
}

int fold_conversation_opened(struct fold *f) {
    struct str id;
    int rc = fold_string(f, "conversationId", &id);
    if (rc != 0) return rc;
    if (f->node < 0) return fold_corrupt(f, "a conversation of no node");
    struct node_state *n = &f->run->nodes[f->node];
    if (conversation_find(f->run, id)) return fold_corrupt(f, "the conversation was opened before");
    struct conversation *c = MEM_NEW(struct conversation);
    if (!c || text_set(&c->id, id) != 0) {
        conversation_free(c);
        return fold_no_memory(f);
    }
    conversation_free(n->conversation);
    n->conversation = c;
    c->opened_seq = f->event->seq;
    c->opened_ms = f->ts_ms;
    c->turns = 1;
    conversation_touch(f, c);
    return 0;
}

/* An exchange or the end of an open conversation, of the next turn. */
static int conversation_goes_on(struct fold *f, struct conversation **out) {
    struct str id;
    int64_t index = 0;
    int rc = fold_string(f, "conversationId", &id);
    if (rc != 0) return rc;
    if (f->node < 0) return fold_corrupt(f, "a turn of no node");
    struct conversation *c = f->run->nodes[f->node].conversation;
    if (!c || !str_eq(text_str(&c->id), id)) c = conversation_find(f->run, id);
    if (!c || c->closed) return fold_corrupt(f, "no such conversation is open");
    if (!json_int(json_get(f->event->payload, "turnIndex"), &index) || index != c->turns ||
        index == INT32_MAX)
        return fold_corrupt(f, "not the next turn of the conversation");
    c->turns++;
    conversation_touch(f, c);
    *out = c;
    return 0;
}

int fold_conversation_exchanged(struct fold *f) {
    struct conversation *c;
    return conversation_goes_on(f, &c);
}

int fold_conversation_closed(struct fold *f) {
    struct conversation *c = NULL;
    int rc = conversation_goes_on(f, &c);
    if (rc == 0) c->closed = true;
    return rc;
}
