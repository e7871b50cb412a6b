/*
 * wabt.cc: the interpreter of wabt behind wasm.h.  Layer: sandbox, in the worker process alone.
 *
 * Why this one: it counts its steps exactly, so that any loop can be stopped, and Debian has it.
 * It is compiled without access control, since pushing a call is private to wabt.  It has had
 * memory errors: hence a process of its own, in which nothing of the host lies.
 */
#include "sandbox/worker/wasm.h"

#include <cstdio>
#include <cstring>
#include <new>

#include "wabt/binary-reader.h"
#include "wabt/error.h"
#include "wabt/feature.h"
#include "wabt/interp/binary-reader-interp.h"
#include "wabt/interp/interp.h"

using namespace wabt;
using namespace wabt::interp;

struct wasm_module {
    ModuleDesc desc;
    bool starts;              /* it has a start function, */
    Index start;              /* this one: an engine would run it without counting */
    std::vector<int> imports; /* the host's number of each */
};

struct wasm_instance {
    const wasm_module *m;
    Store store;
    Module::Ptr module;
    Instance::Ptr inst;
    Memory::Ptr memory;
    wasm_host host;
    uint64_t steps;
    unsigned depth; /* calls from outside that are under way */
    bool stopped;
};

namespace {

const unsigned DEPTH_MAX = 2;

void say(char why[WASM_WHY_MAX], const char *text) { snprintf(why, WASM_WHY_MAX, "%s", text); }

wasm_type type_of(Type t) {
    return t == Type::I32 ? WASM_I32 : t == Type::I64 ? WASM_I64 : WASM_OTHER;
}

wasm_sig sig_of(const FuncType &f) {
    wasm_sig s = {};
    s.params_nr = static_cast<unsigned>(f.params.size());
    s.results_nr = static_cast<unsigned>(f.results.size());
    for (unsigned i = 0; i < s.params_nr && i < WASM_PARAMS_MAX; i++)
        s.params[i] = type_of(f.params[i]);
    for (unsigned i = 0; i < s.results_nr && i < WASM_RESULTS_MAX; i++)
        s.results[i] = type_of(f.results[i]);
    return s;
}

const ExportDesc *export_of(const wasm_module *m, const char *name, ExternKind kind) {
    for (const ExportDesc &e : m->desc.exports)
        if (e.type.type->kind == kind && e.type.name == name) return &e;
    return nullptr;
}

Value value_of(wasm_type t, uint64_t v) {
    return t == WASM_I32 ? Value::Make(static_cast<u32>(v)) : Value::Make(static_cast<u64>(v));
}

uint64_t number_of(wasm_type t, const Value &v) {
    return t == WASM_I32 ? v.Get<u32>() : v.Get<u64>();
}

/* What an engine would rather try than refuse. */
const char *too_much(const ModuleDesc &d) {
    if (d.funcs.size() > WASM_FUNCS_MAX) return "the module has more than 100000 functions";
    if (d.globals.size() > WASM_FUNCS_MAX) return "the module has more than 100000 globals";
    if (d.datas.size() > WASM_FUNCS_MAX || d.elems.size() > WASM_FUNCS_MAX)
        return "the module has more than 100000 segments";
    if (d.tables.size() > WASM_TABLES_MAX) return "the module has more than 16 tables";
    for (const TableDesc &t : d.tables)
        if (t.type.limits.initial > WASM_TABLE_MAX)
            return "a table of the module has more than 100000 elements";
    for (const FuncDesc &f : d.funcs)
        if (!f.locals.empty() && f.locals.back().end > 50000)
            return "a function of the module has more than 50000 locals";
    return nullptr;
}

bool imports_find(wasm_module *m, wasm_find_fn *find, void *ctx, char why[WASM_WHY_MAX]) {
    for (const ImportDesc &i : m->desc.imports) {
        int which = -1;
        if (i.type.type->kind == ExternKind::Func) {
            wasm_sig sig = sig_of(*cast<FuncType>(i.type.type.get()));
            which = find(ctx, i.type.module.c_str(), i.type.name.c_str(), &sig);
        }
        if (which < 0) {
            snprintf(why, WASM_WHY_MAX,
                     "the module imports %.60s.%.80s, which is not there in this form",
                     i.type.module.c_str(), i.type.name.c_str());
            return false;
        }
        m->imports.push_back(which);
    }
    return true;
}

void limits_clamp(wasm_module *m) {
    for (TableDesc &t : m->desc.tables) {
        t.type.limits.has_max = true;
        if (t.type.limits.max > WASM_TABLE_MAX) t.type.limits.max = WASM_TABLE_MAX;
    }
    m->starts = !m->desc.starts.empty();
    if (m->starts) m->start = m->desc.starts[0].func_index;
    m->desc.starts.clear();
}

wasm_end module_read(const void *bytes, size_t n, wasm_module *m, char why[WASM_WHY_MAX]) {
    Features features;
    Errors errors;
    features.disable_simd(); /* its relaxed half is not the same everywhere */
    ReadBinaryOptions options(features, nullptr, false, true, false);
    if (Failed(ReadBinaryInterp("module", bytes, n, options, &errors, &m->desc))) {
        snprintf(why, WASM_WHY_MAX, "the module is not valid: %.150s",
                 errors.empty() ? "it cannot be read" : errors[0].message.c_str());
        return WASM_WRONG;
    }
    const char *over = too_much(m->desc);
    if (over) {
        say(why, over);
        return WASM_WRONG;
    }
    limits_clamp(m);
    return WASM_RETURNED;
}

/* Counted, however long it takes. */
wasm_end run(wasm_instance *i, const DefinedFunc &f, const Values &params, Values *results,
             char why[WASM_WHY_MAX]) {
    Thread t(i->store);
    Trap::Ptr trap;
    t.frames_.reserve(WASM_CALLS_MAX);
    t.PushValues(f.type().params, params);
    RunResult r = t.PushCall(f, &trap);
    while (r == RunResult::Ok) {
        r = t.Run(WASM_SLICE, &trap);
        i->steps += WASM_SLICE;
        if (i->stopped) return WASM_STOPPED;
        if (r == RunResult::Ok && !i->host.go_on(i->host.ctx)) return WASM_OUT_OF_TIME;
    }
    if (r == RunResult::Return) {
        t.PopValues(f.type().results, results);
        return WASM_RETURNED;
    }
    snprintf(why, WASM_WHY_MAX, "%.190s",
             trap ? trap->message().c_str() : "an exception that nobody caught");
    return WASM_TRAPPED;
}

wasm_end run_at(wasm_instance *i, Ref ref, const Values &params, Values *results,
                char why[WASM_WHY_MAX]) {
    Func::Ptr f = i->store.UnsafeGet<Func>(ref);
    if (!isa<DefinedFunc>(f.get()) || i->depth >= DEPTH_MAX) {
        say(why, i->depth >= DEPTH_MAX ? "the module calls itself through the host"
                                       : "an export of the module is an import");
        return WASM_TRAPPED;
    }
    i->depth++;
    wasm_end end = run(i, *cast<DefinedFunc>(f.get()), params, results, why);
    i->depth--;
    return end;
}

HostFunc::Ptr import_of(wasm_instance *i, const FuncType &type, int which) {
    wasm_sig sig = sig_of(type);
    return HostFunc::New(
        i->store, type,
        [i, which, sig](Thread &t, const Values &params, Values &results, Trap::Ptr *trap) {
            uint64_t in[WASM_PARAMS_MAX] = {}, out[WASM_RESULTS_MAX] = {};
            for (unsigned n = 0; n < sig.params_nr; n++)
                in[n] = number_of(sig.params[n], params[n]);
            if (!i->host.call(i->host.ctx, which, in, out)) {
                i->stopped = true;
                *trap = Trap::New(t.store(), "stopped");
                return Result::Error;
            }
            results.clear();
            for (unsigned n = 0; n < sig.results_nr; n++)
                results.push_back(value_of(sig.results[n], out[n]));
            return Result::Ok;
        });
}

wasm_end instantiate(wasm_instance *i, uint64_t memory_max, char why[WASM_WHY_MAX]) {
    ModuleDesc desc = i->m->desc;
    RefVec imports;
    Trap::Ptr trap;
    uint64_t pages = memory_max / WASM_PAGE;
    for (MemoryDesc &m : desc.memories) {
        if (m.type.limits.initial > pages) {
            say(why, "the module begins with more memory than it may have");
            return WASM_WRONG;
        }
        if (!m.type.limits.has_max || m.type.limits.max > pages) m.type.limits.max = pages;
        m.type.limits.has_max = true;
    }
    for (size_t n = 0; n < desc.imports.size(); n++)
        imports.push_back(
            import_of(i, *cast<FuncType>(desc.imports[n].type.type.get()), i->m->imports[n])
                ->self());
    i->module = Module::New(i->store, desc);
    i->inst = Instance::Instantiate(i->store, i->module->self(), imports, &trap);
    if (!i->inst) {
        snprintf(why, WASM_WHY_MAX, "%.190s", trap ? trap->message().c_str() : "no instance");
        return WASM_TRAPPED;
    }
    const ExportDesc *e = export_of(i->m, "memory", ExternKind::Memory);
    if (e) i->memory = i->store.UnsafeGet<Memory>(i->inst->memories()[e->index]);
    if (!i->m->starts) return WASM_RETURNED;
    Values none;
    return run_at(i, i->inst->funcs()[i->m->start], none, &none, why);
}

} // namespace

extern "C" {

wasm_end wasm_module_new(const void *bytes, size_t n, wasm_find_fn *find, void *ctx,
                         wasm_module **out, char why[WASM_WHY_MAX]) {
    *out = nullptr;
    try {
        wasm_module *m = new wasm_module();
        wasm_end end = module_read(bytes, n, m, why);
        if (end == WASM_RETURNED && !imports_find(m, find, ctx, why)) end = WASM_WRONG;
        if (end == WASM_RETURNED) *out = m;
        else delete m;
        return end;
    } catch (const std::bad_alloc &) {
        say(why, "the module needs more memory than there is to read it");
        return WASM_NO_MEMORY;
    }
}

void wasm_module_free(wasm_module *m) { delete m; }

bool wasm_module_func(const wasm_module *m, const char *name, wasm_sig *out) {
    const ExportDesc *e = export_of(m, name, ExternKind::Func);
    if (e) *out = sig_of(*cast<FuncType>(e->type.type.get()));
    return e != nullptr;
}

bool wasm_module_has_memory(const wasm_module *m) {
    return export_of(m, "memory", ExternKind::Memory) != nullptr;
}

wasm_end wasm_instance_new(const wasm_module *m, uint64_t memory_max, const wasm_host *host,
                           wasm_instance **out, char why[WASM_WHY_MAX]) {
    *out = nullptr;
    try {
        wasm_instance *i = new wasm_instance();
        *out = i;
        i->m = m;
        i->host = *host;
        return instantiate(i, memory_max, why);
    } catch (const std::bad_alloc &) {
        say(why, "no memory for an instance of the module");
        return WASM_NO_MEMORY;
    }
}

void wasm_instance_free(wasm_instance *i) { delete i; }

wasm_end wasm_call(wasm_instance *i, const char *name, const uint64_t *params, uint64_t *results,
                   char why[WASM_WHY_MAX]) {
    try {
        const ExportDesc *e = export_of(i->m, name, ExternKind::Func);
        if (!e) {
            say(why, "the module has no such function");
            return WASM_WRONG;
        }
        wasm_sig sig = sig_of(*cast<FuncType>(e->type.type.get()));
        Values in, back;
        for (unsigned n = 0; n < sig.params_nr; n++)
            in.push_back(value_of(sig.params[n], params[n]));
        wasm_end end = run_at(i, i->inst->funcs()[e->index], in, &back, why);
        for (unsigned n = 0; end == WASM_RETURNED && n < sig.results_nr; n++)
            results[n] = number_of(sig.results[n], back[n]);
        return end;
    } catch (const std::bad_alloc &) {
        say(why, "the module needs more memory than its process has");
        return WASM_NO_MEMORY;
    }
}

uint8_t *wasm_memory(wasm_instance *i, uint64_t *size) {
    *size = i->memory ? i->memory->ByteSize() : 0;
    return i->memory ? i->memory->UnsafeData() : nullptr;
}

uint64_t wasm_steps(const wasm_instance *i) { return i->steps; }
}
