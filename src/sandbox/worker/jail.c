/* jail.c: limits and the filter of system calls. */
#define _GNU_SOURCE /* SCHED_IDLE */
#include "sandbox/worker/jail.h"

#include "base/child.h"
#include "base/sanitized.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define JAIL_OPEN (SANITIZED_ADDRESS || SANITIZED_THREAD)

#if defined(__x86_64__)
#define JAIL_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define JAIL_ARCH AUDIT_ARCH_AARCH64
#endif

static bool jail_limit(int what, uint64_t most) {
    const struct rlimit r = {most, most};
    return setrlimit((__rlimit_resource_t)what, &r) == 0;
}

#if !JAIL_OPEN && defined(JAIL_ARCH)
/* A call of this number is admitted: the next instruction says so, or is jumped over. */
#define ADMIT(nr)                                                                                  \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static bool jail_filter(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, JAIL_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ADMIT(SYS_read),
        ADMIT(SYS_write),
        ADMIT(SYS_exit_group),
        ADMIT(SYS_brk),
        ADMIT(SYS_munmap),
        ADMIT(SYS_mremap),
        ADMIT(SYS_madvise),
        ADMIT(SYS_futex),
        ADMIT(SYS_clock_gettime), /* where the kernel gives no shared page */
        ADMIT(SYS_rt_sigreturn),
        ADMIT(SYS_getrandom), /* seeds of hash tables; no module gets at it */
        /* mmap without executing: a module is data here */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4 /* PROT_EXEC */, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#endif

/* Where cores are short, the host goes first: a module executes where a core has nothing else to
 * do, and leaves it at once.  A low priority is not enough: a thread of the host that wakes up
 * would wait for the end of the module's slice, several times in one request.  Not so beside a
 * sanitizer, where a module needs twenty times as long and the cores have other tests. */
static bool jail_last_to_run(void) {
#if JAIL_OPEN
    return true;
#else
    const struct sched_param none = {.sched_priority = 0};
    return sched_setscheduler(0, SCHED_IDLE, &none) == 0;
#endif
}

const char *jail_enter(uint64_t address_max, unsigned cpu_s) {
    /* The thread of the host that started this one lives as long as the host is to live. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return "the death of the host";
    if (!jail_last_to_run()) return "priority";
    child_first_to_go();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no_new_privs";
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return "dumpable";
    if (!jail_limit(RLIMIT_CORE, 0)) return "core files";
    if (!jail_limit(RLIMIT_CPU, cpu_s)) return "processor time";
#if JAIL_OPEN
    (void)address_max;
    return NULL;
#elif defined(JAIL_ARCH)
    if (!jail_limit(RLIMIT_AS, address_max)) return "address space";
    if (!jail_limit(RLIMIT_NOFILE, 0) || !jail_limit(RLIMIT_FSIZE, 0) ||
        !jail_limit(RLIMIT_NPROC, 0))
        return "files and processes";
    return NULL;
#else
    (void)address_max;
    return "this architecture has no filter";
#endif
}

bool jail_shut(void) {
#if JAIL_OPEN
    return true;
#elif defined(JAIL_ARCH)
    return close(STDERR_FILENO) == 0 && jail_filter();
#else
    return false;
#endif
}
