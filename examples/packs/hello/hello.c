/*
 * hello.c: a node type of a pack in C, for wasm32 and without any library: {"name":"Ada"} among its
 * inputs gives {"greeting":"Hello, Ada!"}.  hello.wat is the same by hand.
 *
 *   clang --target=wasm32 -O2 -nostdlib -mbulk-memory -Wl,--no-entry -o hello.wasm hello.c
 *
 * A text is a pointer in the low half of 64 bits and its length in the high half.
 */
#define PACK "vendor.openwop.rust-hello"

typedef unsigned int u32;
typedef unsigned long long u64;
#define EXPORT(name)  __attribute__((export_name(name)))
#define TEXT(literal) text(literal, sizeof(literal) - 1)

static u64 text(const char *p, u32 n) { return (u64)(u32)p | (u64)n << 32; }

/* What was handed out is never taken back: an instance lives for one invocation. */
extern char __heap_base;
static u32 heap_at;
EXPORT("openwop_alloc") u32 openwop_alloc(u32 n) {
    u32 at = heap_at ? heap_at : ((u32)&__heap_base + 7u) & ~7u;
    u32 have = __builtin_wasm_memory_size(0) * 65536u;
    if (n > 0x40000000u || at > 0x40000000u) return 0;
    if (at + n > have &&
        __builtin_wasm_memory_grow(0, (at + n - have + 65535u) / 65536u) == (__SIZE_TYPE__)-1)
        return 0;
    heap_at = (at + n + 7u) & ~7u;
    return at;
}
EXPORT("openwop_free") void openwop_free(u32 at, u32 n) { (void)at, (void)n; }

EXPORT("openwop_abi_version") u32 openwop_abi_version(void) { return 1; }
EXPORT("openwop_pack_name") u64 openwop_pack_name(void) { return TEXT(PACK); }
EXPORT("openwop_node_count") u32 openwop_node_count(void) { return 1; }
EXPORT("openwop_node_id_at") u64 openwop_node_id_at(u32 i) {
    (void)i;
    return TEXT(PACK ".greet");
}

/* Where the text ends in from..end, or NULL.  Enough for one member; a real pack brings a parser. */
static const char *after(const char *from, const char *end, const char *what, u32 n) {
    for (; from + n <= end; from++) {
        u32 i = 0;
        while (i < n && from[i] == what[i]) i++;
        if (i == n) return from + n;
    }
    return 0;
}
#define AFTER(from, end, literal) after(from, end, literal, sizeof(literal) - 1)

static char *put(char *to, const char *p, u32 n) {
    __builtin_memcpy(to, p, n);
    return to + n;
}
#define PUT(to, literal) put(to, literal, sizeof(literal) - 1)

/* The name is copied as it stands between its quotes, so that what was escaped stays so. */
EXPORT("openwop_node_invoke") u64 openwop_node_invoke(u32 type, const char *request, u32 n) {
    const char *end = request + n, *inputs = AFTER(request, end, "\"inputs\":");
    const char *name = inputs ? AFTER(inputs, end, "\"name\":\"") : 0;
    (void)type;
    if (!name)
        return TEXT("{\"outcome\":\"failed\",\"error\":{\"code\":\"validation_error\",\"message\":"
                    "\"the input name is no text\"}}");
    u32 size = 0;
    while (name + size < end && name[size] != '"') size += name[size] == '\\' ? 2 : 1;
    char *out = (char *)openwop_alloc(size + 64), *to = out;
    if (!out) __builtin_trap();
    to = PUT(to, "{\"outcome\":\"completed\",\"output\":{\"greeting\":\"Hello, ");
    to = put(to, name, size);
    to = PUT(to, "!\"}}");
    return text(out, (u32)(to - out));
}
