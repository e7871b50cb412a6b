/*
 * kit.c: a module for tests, with a node type for each thing that a module can do, well or badly.
 * Compiled for wasm32 without any library; texts are packed as pointer and length in one i64.
 */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#define IMPORT(name) __attribute__((import_module("openwop"), import_name(#name)))
#define EXPORT(name) __attribute__((export_name(#name)))

IMPORT(openwop_channel_read) u64 channel_read(const char *p, u32 n);
IMPORT(openwop_channel_write) u32 channel_write(const char *p, u32 n, const char *v, u32 vn);
IMPORT(openwop_variable_get) u64 variable_get(const char *p, u32 n);
IMPORT(openwop_variable_set) u32 variable_set(const char *p, u32 n, const char *v, u32 vn);
IMPORT(openwop_interrupt) u64 interrupt(const char *p, u32 n);
IMPORT(openwop_log) void host_log(u32 level, const char *p, u32 n);
IMPORT(openwop_now_ms) u64 now_ms(void);
IMPORT(openwop_random) void host_random(u8 *p, u32 n);

extern u8 __heap_base;
static u32 heap_at;
static u32 length(const char *z) {
    u32 n = 0;
    while (z[n]) n++;
    return n;
}
static u64 text(const char *p, u32 n) { return (u64)(u32)p | (u64)n << 32; }
static u64 literal(const char *z) { return text(z, length(z)); }

EXPORT(openwop_alloc) u32 openwop_alloc(u32 n) {
    if (heap_at == 0) heap_at = (u32)&__heap_base;
    u32 at = (heap_at + 7u) & ~7u;
    u32 pages = (at + n + 65535u) / 65536u;
    if (pages > __builtin_wasm_memory_size(0) &&
        __builtin_wasm_memory_grow(0, pages - __builtin_wasm_memory_size(0)) == (__SIZE_TYPE__)-1)
        return 0;
    heap_at = at + n;
    return at;
}
EXPORT(openwop_free) void openwop_free(u32 at, u32 n) {
    (void)at;
    (void)n;
}
EXPORT(openwop_abi_version) u32 openwop_abi_version(void) { return 1; }
EXPORT(openwop_pack_name) u64 openwop_pack_name(void) { return literal("vendor.test.kit"); }

/* --- building answers --- */
static char out[200000];
static u32 out_n;
static void put(const char *p, u32 n) {
    for (u32 i = 0; i < n && out_n < sizeof out; i++) out[out_n++] = p[i];
}
static void puts_(const char *z) { put(z, length(z)); }
static void put_u64(u64 v) {
    char d[20];
    u32 n = 0;
    do d[n++] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    while (n > 0) put(&d[--n], 1);
}
static void begin(void) {
    out_n = 0;
    puts_("{\"outcome\":\"completed\",\"output\":");
}
static u64 end(void) {
    puts_("}");
    return text(out, out_n);
}
static void put_text(u64 t) {
    if ((t >> 32) == 0) puts_("\"nothing\"");
    else put((const char *)(u32)t, (u32)(t >> 32));
}

/* --- what types do --- */
static u64 echo(const char *p, u32 n) {
    begin();
    put(p, n);
    return end();
}
static u64 reads(const char *p, u32 n) {
    (void)p, (void)n;
    begin();
    puts_("{\"v\":");
    put_text(variable_get("v", 1));
    puts_(",\"absent\":");
    put_text(variable_get("absent", 6));
    puts_(",\"c\":");
    put_text(channel_read("c", 1));
    puts_(",\"now\":");
    put_u64(now_ms());
    puts_("}");
    return end();
}
static u64 writes(const char *p, u32 n) {
    u32 a, b, c, d;
    (void)p, (void)n;
    a = variable_set("made", 4, "{\"x\":1}", 7);
    b = variable_set("made", 4, "no json", 7);
    c = channel_write("open", 4, "[1]", 3);
    d = channel_write("shut", 4, "1", 1);
    host_log(0, "trace", 5);
    host_log(3, "careful", 7);
    begin();
    puts_("{\"status\":[");
    put_u64(a), puts_(","), put_u64(b), puts_(","), put_u64(c), puts_(","), put_u64(d);
    puts_("],\"made\":");
    put_text(variable_get("made", 4));
    puts_("}");
    return end();
}
static u64 asks(const char *p, u32 n) {
    static const char q[] =
        "{\"kind\":\"custom\",\"key\":\"first\",\"data\":{\"customKind\":\"t\"}}";
    static const char r[] =
        "{\"kind\":\"custom\",\"key\":\"second\",\"data\":{\"customKind\":\"t\"}}";
    (void)p, (void)n;
    u64 before = variable_get("v", 1);
    variable_set("asked", 5, "true", 4);
    u64 x = interrupt(q, sizeof q - 1), y = interrupt(r, sizeof r - 1);
    begin();
    puts_("{\"before\":");
    put_text(before);
    puts_(",\"first\":");
    put_text(x);
    puts_(",\"second\":");
    put_text(y);
    puts_("}");
    return end();
}
static int holds(const char *p, u32 n, const char *z) {
    u32 k = length(z);
    for (u32 i = 0; i + k <= n; i++) {
        u32 j = 0;
        while (j < k && p[i + j] == z[j]) j++;
        if (j == k) return 1;
    }
    return 0;
}
static u64 suspends(const char *p, u32 n) {
    if (holds(p, n, "\"resume\":")) return echo(p, n);
    return literal("{\"outcome\":\"suspended\",\"interrupt\":{\"kind\":\"custom\",\"key\":\"k\","
                   "\"data\":{\"customKind\":\"t\"}}}");
}
static u64 fails(const char *p, u32 n) {
    (void)p, (void)n;
    return literal(
        "{\"outcome\":\"failed\",\"error\":{\"code\":\"out_of_tea\",\"message\":\"no tea\"}}");
}
static u64 draws(const char *p, u32 n) {
    u8 b[40];
    (void)p, (void)n;
    host_random(b, sizeof b);
    begin();
    puts_("[");
    for (u32 i = 0; i < sizeof b; i++) {
        if (i > 0) puts_(",");
        put_u64(b[i]);
    }
    puts_("]");
    return end();
}
static u64 spins(const char *p, u32 n) {
    volatile u32 i = 0;
    (void)p, (void)n;
    for (;;) i++;
}
static u64 fills(const char *p, u32 n) { /* costs an engine much and counts little */
    u32 at = openwop_alloc(30u * 1024 * 1024);
    (void)p, (void)n;
    for (;;) __builtin_memset((void *)at, 7, 30u * 1024 * 1024);
}
static u64 grows(const char *p, u32 n) {
    (void)p, (void)n;
    for (;;)
        if (__builtin_wasm_memory_grow(0, 16) == (__SIZE_TYPE__)-1) __builtin_trap();
}
static u32 deeper(volatile u32 n) { return n == 0 ? 0 : deeper(n + 1) + n; }
static u64 recurs(const char *p, u32 n) {
    (void)p, (void)n;
    return deeper(1);
}
static u64 outside(const char *p, u32 n) {
    (void)p, (void)n;
    return text((const char *)0xfffffff0u, 64);
}
static u64 outside_import(const char *p, u32 n) {
    (void)p, (void)n;
    host_log(2, (const char *)0xffffff00u, 0xffffffffu);
    return literal("{}");
}
static u64 no_json(const char *p, u32 n) {
    (void)p, (void)n;
    return literal("{\"outcome\":");
}
static u64 no_outcome(const char *p, u32 n) {
    (void)p, (void)n;
    return literal("[1,2]");
}
static u64 huge(const char *p, u32 n) {
    (void)p, (void)n;
    u32 at = openwop_alloc(1000u * 65536u);
    return text((const char *)at, 1000u * 65536u);
}
static u64 counts(const char *p, u32 n) { /* a fresh instance: always 1 */
    static u32 times;
    (void)p, (void)n;
    begin();
    put_u64(++times);
    return end();
}
static u64 floods(const char *p, u32 n) {
    u32 refused = 0;
    (void)p, (void)n;
    for (u32 i = 0; i < 5000; i++) refused += variable_set("v", 1, "1", 1) == 20;
    begin();
    put_u64(refused);
    return end();
}
/* Writes that a run takes and does not take; what each was told. */
static u64 judged(const char *p, u32 n) {
    static const char *const WRITES[][2] = {
        {"sum", "\"x\""},   {"sum", "2"},       {"typed", "{\"n\":\"no\"}"}, {"typed", "{\"n\":1}"},
        {"lines", "7"},     {"lines", "\"a\""}, {"_approvalVotes:x", "{}"},  {"v", "1"},
        {"free", "[true]"}, {"", "1"}};
    (void)p, (void)n;
    begin();
    puts_("[");
    for (u32 i = 0; i < sizeof WRITES / sizeof *WRITES; i++) {
        const char *name = WRITES[i][0], *value = WRITES[i][1];
        put_u64(channel_write(name, length(name), value, length(value)));
        puts_(",");
    }
    put_u64(variable_set("sum", 3, "1", 1));
    puts_("]");
    return end();
}

static const struct {
    const char *id;
    u64 (*invoke)(const char *p, u32 n);
} TYPES[] = {{"vendor.test.kit.echo", echo},
             {"vendor.test.kit.reads", reads},
             {"vendor.test.kit.writes", writes},
             {"vendor.test.kit.asks", asks},
             {"vendor.test.kit.suspends", suspends},
             {"vendor.test.kit.fails", fails},
             {"vendor.test.kit.draws", draws},
             {"vendor.test.kit.spins", spins},
             {"vendor.test.kit.fills", fills},
             {"vendor.test.kit.grows", grows},
             {"vendor.test.kit.recurs", recurs},
             {"vendor.test.kit.outside", outside},
             {"vendor.test.kit.outsideImport", outside_import},
             {"vendor.test.kit.noJson", no_json},
             {"vendor.test.kit.noOutcome", no_outcome},
             {"vendor.test.kit.huge", huge},
             {"vendor.test.kit.counts", counts},
             {"vendor.test.kit.floods", floods},
             {"vendor.test.kit.judged", judged}};
EXPORT(openwop_node_count) u32 openwop_node_count(void) { return sizeof TYPES / sizeof *TYPES; }
EXPORT(openwop_node_id_at) u64 openwop_node_id_at(u32 i) { return literal(TYPES[i].id); }
EXPORT(openwop_node_invoke) u64 openwop_node_invoke(u32 i, const char *p, u32 n) {
    return TYPES[i].invoke(p, n);
}
void *memset(void *p, int c, __SIZE_TYPE__ n) {
    u8 *at = p;
    while (n-- > 0) *at++ = (u8)c;
    return p;
}
