/*
 * agent_manifest.h: what an agent is (AGT-40 to AGT-44), and the agents of a run (AGT-46).  Layer:
 * domain (pure).
 *
 * A definition is a manifest with the texts of the files that it names, one JSON object:
 *
 *     {"manifest": {"agentId": "vendor.acme.support.tier1", ...}, "files": {"prompts/a.md": "..."}}
 *
 * Workspace agents are stored so, and packs make the same of what is in their archive.  A set is
 * the definitions that the pins of one run resolved to when it was created:
 *
 *     {"vendor.acme.support.tier1": {"manifest": ..., "files": ...}, ...}
 *
 * in the order of the ids.  It never changes: whatever is stored later, the run, its forks and its
 * replays go by their set.  Its digest depends on ids and canonical definitions alone.
 */
#ifndef WOPR_DOMAIN_AGENT_MANIFEST_H
#define WOPR_DOMAIN_AGENT_MANIFEST_H

#include "codec/bytes.h"
#include "domain/lint.h"

#define AGENT_ID_MAX         256u           /* bytes; AGT-41 */
#define AGENT_DEFINITION_MAX (256u * 1024)  /* bytes of manifest and files */
#define AGENT_FILE_MAX       (64u * 1024)   /* bytes of one file, and of a prompt */
#define AGENT_FILES_MAX      3u             /* a manifest names no more */
#define AGENT_ALLOW_MAX      256u           /* entries of toolAllowlist */
#define AGENT_ALLOW_BYTES    256u           /* of one entry */
#define AGENT_SET_MAX        64u            /* agents of one run */
#define AGENT_SET_BYTES      (1024u * 1024) /* of their definitions together */

bool agent_id_ok(struct str id); /* AGT-41 */

/* --- the judge --- */
struct agent_rules {
    struct str pack;                  /* that it comes with (PACK-17); empty: a workspace agent */
    bool long_term;                   /* the host has long-term memory (AGT-44) */
    const char *const *model_classes; /* of AgentRef, as advertised, NULL-terminated; NULL: none
                                       * are advertised, and any will do (AGT-43) */
};
struct agent_judgement {
    unsigned errors, warnings;
    bool class_unsupported; /* an error is AGT-43's */
    struct str agent_id;    /* decoded, in the arena; empty: there is none */
};
/* All that is wrong or strange with a definition, a finding for each place with its remedy,
 * LINT_MAX of them told.  text: checked JSON; pointers are into it.  Linear in the text.
 * NO_MEMORY. */
MUST_CHECK int agent_judge(struct str text, const struct agent_rules *rules, lint_fn *each,
                           void *ctx, struct arena *a, struct agent_judgement *out,
                           struct wopr_error *err);
/* SHA-256 of the canonical form.  NO_MEMORY, SYNTAX. */
MUST_CHECK int agent_digest(struct str definition, struct sha256 *out, struct wopr_error *err);
/* {"manifest": m, "files": f}, f may be empty; checked texts.  p NULL: no memory. */
struct str agent_definition(struct str manifest, struct str files, struct arena *a);
/* Does the value fit the schema?  NULL when it does, else why not, in a; *judged is false where the
 * schema is none.  value empty: only that.  Checked texts. */
const char *agent_schema_wrong(struct str schema, struct str value, struct arena *a, bool *judged);
/* The classes of AgentRef (AGT-2), by number; a set of them is a bit for each. */
#define AGENT_CLASSES_NR 9u
extern const char *const AGENT_CLASSES[AGENT_CLASSES_NR];
int agent_class_no(struct str name); /* -1: it is none */
/* The class of AgentRef that a manifest's class means (AGT-42), NULL: it is none. */
const char *agent_model_class(struct str of_manifest);

/* --- pins and sets --- */
/* The manifest that a pin (raw AgentRef) means: its sourceManifestId, else its agentId; empty when
 * that is no id of a manifest, as host:x is none. */
struct str agent_of_pin(struct str pin, struct arena *a);
/* Only an agent of this workspace can be meant: unknown, it is a mistake (tier local). */
bool agent_must_exist(struct str id);
struct agent_pin {
    struct str id; /* of a manifest */
    int node;      /* the first that is pinned to it */
};
struct agent_pins {
    struct agent_pin *v;
    size_t n;
};
/* Those of a workflow, each id once, in the order of the ids. NO_MEMORY. */
MUST_CHECK int agent_pins_of(const struct workflow *wf, struct arena *a, struct agent_pins *out,
                             struct wopr_error *err);

struct agent_member {
    struct str id, definition;
    struct sha256 digest; /* agent_digest of it */
};
struct agent_set {
    struct str text;   /* empty: no agents */
    struct str digest; /* "sha256:" and 64 hex digits; empty likewise */
};
#define AGENT_SET_DIGEST_LEN 71u
/* v in the order of the ids.  Of SHA-256 over a line "<id> <hex digest>\n" for each of them.
 * TOO_BIG, NO_MEMORY. */
MUST_CHECK int agent_set_make(const struct agent_member *v, size_t n, struct arena *a,
                              struct agent_set *out, struct wopr_error *err);
/* The digest of a set, from its text alone; for checks.  SYNTAX, NO_MEMORY. */
MUST_CHECK int agent_set_digest(struct str set, struct arena *a, struct str *out,
                                struct wopr_error *err);

struct agent { /* texts of the set or of the arena */
    struct str id, manifest;
    struct str system_prompt;              /* decoded */
    struct str threshold;                  /* raw number or empty (AGT-31) */
    struct str task_schema, return_schema; /* raw JSON Schema or empty */
    const char *model_class;               /* of AgentRef */
    struct json_elements allow; /* raw texts; none: it may call nothing (AGT-9, choice) */
};
/* What a pin means in the set of its run.  false: it names none of it, or memory is short
 * (arena_failed). */
bool agent_find(struct str set, struct str pin, struct arena *a, struct agent *out);
/* Does the allow-list name it: "mcp:search" (AGT-9)? */
bool agent_allows(const struct agent *g, struct str tool, struct arena *a);
/* The same of a tool without a scope: "search" is mcp:search, or that of any other scope. */
bool agent_allows_name(const struct agent *g, struct str name, struct arena *a);

#endif
