/*
 * event.h: event kinds (events.def) and the stored fact.  Layer: domain (pure).
 *
 * The sequence of an event is its position in the log of its run, from 0 without holes (EVT-2).
 * Neither the rendered envelope is stored (D22) nor the event id: that one is derived from run id
 * and sequence (event_id_format), so it is unique by the primary key and needs no index.
 */
#ifndef WOPR_DOMAIN_EVENT_H
#define WOPR_DOMAIN_EVENT_H

#include "base/arena.h"
#include "base/buf.h"

enum ev_kind {
#define EVENT(id, ...) EV_##id,
#include "domain/events.def"
#undef EVENT
    EV_NR,
    EV_UNKNOWN =
        255 /* a stored kind of a newer version: only counted, never written (GEN-5, EVT-13) */
};
enum { EV_MODE_U = 1, EV_MODE_V = 2, EV_MODE_M = 4 };

const char *event_name(enum ev_kind k); /* "run.started"; "unknown" when out of range */
const char *event_payload_def(enum ev_kind k);
unsigned event_modes(enum ev_kind k);        /* EV_MODE_* bits */
enum ev_kind event_kind_of(struct str name); /* EV_UNKNOWN when no row */

/* The other columns of the table.  All of it is false, 0 or DIM for EV_UNKNOWN. */
enum {
    EV_F_ENDS_RUN = 1 << 0,     /* EVT-7 */
    EV_F_ENDS_NODE = 1 << 1,    /* ends the node's activation */
    EV_F_OF_NODE = 1 << 2,      /* a step in the life of a node: the status of the run may follow */
    EV_F_EFFECT = 1 << 3,       /* caused by an executor; a re-executed attempt skips as many as the
                                 * log already holds (STORE-39) */
    EV_F_FLUSH = 1 << 4,        /* ends a batch of a stream (SSE-33) */
    EV_F_NOT_REPLAYED = 1 << 5, /* depends on host and time: replays do not repeat it (FORK-18) */
    EV_F_PARENT_NEWS = 1 << 6,  /* the parent shows it, waits for it or ends with it */
    EV_F_ANSWERS = 1 << 7,      /* a replay emits it for a waiting node instead of asking again */
    EV_F_SHOWN = 1 << 8, /* its values are masked by declaration, so some are shown on purpose,
                                 * or come from outside the run: not scrubbed of secrets */
};
bool event_kind_is(enum ev_kind k, unsigned flag);
/* Is k emitted after `earlier` of the same node, for the same cause? */
bool event_follows(enum ev_kind k, enum ev_kind earlier);
static inline bool event_is_terminal(enum ev_kind k) { return event_kind_is(k, EV_F_ENDS_RUN); }

enum ev_count {
    EV_COUNT_NOTHING,
    EV_COUNT_RUNS_COMPLETED,
    EV_COUNT_RUNS_FAILED,
    EV_COUNT_RUNS_CANCELLED,
    EV_COUNT_NODES_COMPLETED,
    EV_COUNT_NODES_FAILED,
    EV_COUNT_RETRIES,
    EV_COUNT_CAP_BREACHES,
    EV_COUNT_NR
};
enum ev_count event_count(enum ev_kind k);

enum ev_tone { EV_TONE_DIM, EV_TONE_PLAIN, EV_TONE_GOOD, EV_TONE_BAD, EV_TONE_WARN, EV_TONE_MOVES };
enum ev_tone event_tone(enum ev_kind k);
const char *event_mark(enum ev_kind k); /* one character, " " for most kinds */

#define RUN_ID_MAX               128
#define NODE_ID_MAX              128
#define RUN_ID_LEN               30 /* "run_" + ULID */
#define EVENT_SCHEMA_VERSION     1  /* per event, VER-1 */
#define EVENT_LOG_SCHEMA_VERSION 2  /* the era of v1 runs, D23 */
#define CURRENT_ENGINE_VERSION   1  /* VER-2 */

struct event {
    int64_t seq;
    enum ev_kind kind;
    struct str type;        /* stored name; equals event_name(kind) unless EV_UNKNOWN */
    struct str node_id;     /* empty = no node */
    int64_t causation_seq;  /* sequence of the cause in the same run, -1 = none */
    int64_t ts_ms;          /* UTC */
    int32_t schema_version; /* >= 1 */
    int32_t engine_version; /* as shown (a forced version shows the forced number, VER-11) */
    uint32_t flags;         /* EVENT_INHERITED ... */
    struct str payload;     /* validated JSON object text */
    struct str clear; /* EVENT_MASKED: the members that the payload shows masked, as nodes read
                         them (OBS-71); empty for readers without the key, and once the run has
                         ended.  Only the fold of an engine sees it */
};
enum {
    EVENT_INHERITED = 1,
    EVENT_REEMITTED = 2,
    EVENT_MASKED = 4 /* values in the payload are masked; a sealed row may hold them */
};
struct event_list {
    struct event *v;
    size_t n;
};
/* The bytes an event counts for in bounds of logs: its texts and a row. */
#define EVENT_ROW_BYTES 64
int64_t event_bytes(const struct event *e);
/* eventId = "<26 characters of the run id>-<seq>" (D11, EVT-1).  out >= EVENT_ID_SIZE. */
#define EVENT_ID_SIZE (RUN_ID_MAX + 24)
void event_id_format(struct str run_id, int64_t seq, char out[EVENT_ID_SIZE]);
/* The sequence in an eventId of this run; false when it is not one of the run's. */
bool event_id_parse(struct str run_id, struct str event_id, int64_t *seq);

/* Payload rules: the compiled definitions of run-event-payloads.schema.json with the relaxations of
 * EVT-14.  Built once at start from the embedded schemas; immutable, thread-safe. */
struct payload_rules;
MUST_CHECK int payload_rules_new(struct payload_rules **out, struct wopr_error *err);
void payload_rules_free(struct payload_rules *r);
/* EVT-12: 0, or WOPR_E_PAYLOAD_INVALID with the instance pointer in err->pointer and the reason. */
MUST_CHECK int payload_check(const struct payload_rules *r, enum ev_kind k, struct str payload,
                             struct wopr_error *err);
/* Did this thread remember these bytes for this kind? Then redaction leaves them alone (without a
 * known credential) and payload_check returns 0.  Only remember payloads for which both hold. */
bool payload_passed(const struct payload_rules *r, enum ev_kind k, struct str payload);
void payload_remember(const struct payload_rules *r, enum ev_kind k, struct str payload);

#endif
