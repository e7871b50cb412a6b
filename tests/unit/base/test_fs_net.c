/* test_fs_net.c: files and sockets through base, and the faults a test can put there. */
#include "base/fault.h"
#include "base/fs.h"
#include "base/net.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[128], path[288];

static void folder_up(void) {
    cr_assert(folder_make(folder, sizeof folder, "fs"));
    snprintf(path, sizeof path, "%s/file", folder);
}

static void folder_down(void) {
    fault_disarm();
    (void)unlink(path);
    (void)rmdir(folder);
}

TestSuite(fs, .init = folder_up, .fini = folder_down);

static void file_write(const char *text, size_t n) {
    int fd = fs_open(path, O_RDWR | O_CREAT, 0600);
    cr_assert_geq(fd, 0);
    cr_assert_eq(fs_write_at(fd, text, n, 0), (ssize_t)n);
    cr_assert_eq(fs_sync(fd), 0);
    close(fd);
}

Test(fs, a_file_is_read_up_to_its_maximum) {
    struct buf b;
    cr_expect_eq(fs_read(path, 8, &b), FS_READ_NO_FILE);
    cr_expect_eq(errno, ENOENT);
    cr_expect_not(fs_exists(path));
    file_write("12345678", 8);
    cr_expect(fs_exists(path) && fs_readable(path));
    cr_expect_eq(fs_read(path, 7, &b), FS_READ_TOO_BIG);
    cr_assert_eq(fs_read(path, 8, &b), FS_READ_OK);
    cr_expect(str_eqc(buf_str(&b), "12345678"));
    buf_fini(&b);
    cr_expect_eq(fs_read(folder, 8, &b), FS_READ_FAILED);
    cr_expect_eq(errno, EISDIR);
}

Test(fs, a_file_without_bytes_is_an_empty_text) {
    struct buf b;
    file_write("", 0);
    cr_assert_eq(fs_read(path, 0, &b), FS_READ_OK);
    cr_expect_eq(buf_str(&b).n, 0);
    buf_fini(&b);
}

static bool name_take(void *ctx, const char *name) {
    cr_expect_str_eq(name, "file");
    ++*(int *)ctx;
    return false;
}

Test(fs, the_names_of_a_folder_end_when_the_caller_says_so) {
    int n = 0;
    file_write("x", 1);
    cr_assert_eq(fs_each_name(folder, name_take, &n), 0);
    cr_expect_eq(n, 1);
    cr_expect_eq(fs_each_name(path, name_take, &n), -1);
    cr_expect_eq(errno, ENOTDIR);
}

static uid_t owner(const char *name) {
    struct stat st;
    return lstat(name, &st) == 0 ? st.st_uid : (uid_t)-1;
}

static void create(const char *name) {
    int fd = fs_create(name, O_RDWR, 0600);
    cr_assert_geq(fd, 0, "%s: %s", name, strerror(errno));
    close(fd);
}

Test(fs, what_root_makes_in_the_folder_of_a_user_is_the_users) {
    char link_path[300], target[300];
    (void)snprintf(link_path, sizeof link_path, "%s/link", folder);
    (void)snprintf(target, sizeof target, "%s/target", folder);
    create(path);
    cr_expect_eq(owner(path), geteuid());
    create(path); /* it is there */
    cr_expect_eq(unlink(path), 0);
    cr_assert_eq(symlink(target, link_path), 0);
    create(link_path); /* the link's file is made, as open(2) does */
    cr_expect_eq(owner(target), geteuid());
    if (geteuid() == 0) {
        file_write("of root", 7);
        cr_assert_eq(chown(folder, 12345, 12345), 0);
        cr_expect_null(fs_exposed(target), "root's own");
        create(path);
        create(link_path);
        cr_expect_eq(owner(path), 0, "what was there stays root's");
        cr_expect_eq(owner(target), 0, "and what a link leads to");
        cr_expect_eq(unlink(path), 0);
        create(path);
        cr_expect_eq(owner(path), 12345);
        cr_expect_null(fs_exposed(path), "the user's own");
        cr_assert_eq(chown(path, 12346, 12346), 0);
        cr_expect_not_null(fs_exposed(path), "a third user's");
    }
    cr_expect_eq(unlink(link_path), 0);
    cr_expect_eq(unlink(target), 0);
}

Test(fs, what_changes_the_disk_fails_at_its_fault_point) {
    file_write("x", 1);
    int fd = fs_open(path, O_RDWR, 0);
    cr_assert_geq(fd, 0);
    cr_assert(fault_arm(1u << FAULT_WRITE, 1));
    cr_expect_eq(fs_open(path, O_RDWR | O_CREAT, 0600), -1);
    cr_expect_eq(errno, ENOSPC);
    cr_assert(fault_arm(1u << FAULT_WRITE, 1));
    cr_expect_eq(fs_make_folder(path, 0700), -1);
    cr_expect_eq(errno, ENOSPC);
    cr_assert(fault_arm(1u << FAULT_WRITE, 1));
    cr_expect_eq(fs_truncate(fd, 0), -1);
    cr_assert(fault_arm(1u << FAULT_WRITE, 1));
    cr_expect_eq(fs_write_at(fd, "y", 1, 0), -1);
    cr_assert(fault_arm(1u << FAULT_FSYNC, 1));
    cr_expect_eq(fs_sync(fd), -1);
    cr_expect_eq(errno, EIO);
    cr_expect_eq(fs_truncate(fd, 0), 0, "once");
    close(fd);
}

Test(net, every_call_fails_at_its_fault_point) {
    int pair[2];
    char c;
    struct iovec v = {.iov_base = &c, .iov_len = 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    struct addrinfo *list = NULL;
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    cr_assert(fault_arm(1u << FAULT_NET, 1));
    cr_expect_eq(net_send(pair[0], "x", 1, 0), -1);
    cr_expect_eq(errno, ECONNRESET);
    cr_assert(fault_arm(1u << FAULT_NET, 1));
    cr_expect_eq(net_sendmsg(pair[0], &m, 0), -1);
    cr_assert(fault_arm(1u << FAULT_NET, 1));
    cr_expect_eq(net_recv(pair[1], &c, 1, MSG_DONTWAIT), -1);
    cr_expect_eq(errno, ECONNRESET);
    cr_assert(fault_arm(1u << FAULT_NET, 1));
    cr_expect_eq(net_socket(AF_INET, SOCK_STREAM, 0), -1);
    cr_assert(fault_arm(1u << FAULT_NET, 1));
    cr_expect_eq(net_accept(pair[0], NULL, NULL, 0), -1);
    cr_expect_eq(errno, ECONNABORTED);
    cr_assert(fault_arm(1u << FAULT_NET, 1));
    cr_expect_eq(net_lookup("127.0.0.1", NULL, NULL, &list), EAI_AGAIN);
    cr_expect_eq(net_send(pair[0], "x", 1, 0), 1, "once");
    cr_expect_eq(net_recv(pair[1], &c, 1, 0), 1);
    close(pair[1]);
    cr_expect_eq(net_send(pair[0], "x", 1, 0), -1, "no signal");
    cr_expect_eq(errno, EPIPE);
    close(pair[0]);
}
