/* Stands between SQLite and the kernel for files below one folder: counts the durable calls, and at the chosen one
 * kills the process, fails it once, or fails from then on; or writes every call to a trace. Loaded with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { OFF, COUNT, KILL, KILL_TORN, FAIL_ONCE, FAIL_ON };
#define MOST_FILES 1024
#define NAME 256

static char prefix[4096];
static size_t prefix_length;
static int mode = OFF, fail_with = EIO, trace_fd = -1;
static long calls, target;
static unsigned char tracked[MOST_FILES];
static char names[MOST_FILES][NAME];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off64_t);
static int (*real_unlink)(const char *);

__attribute__((constructor)) static void find(void) {
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_open = dlsym(RTLD_NEXT, "open64");
    real_close = dlsym(RTLD_NEXT, "close");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
}

void shim_arm(const char *folder, int how, long at, int error) {
    pthread_mutex_lock(&lock);
    snprintf(prefix, sizeof prefix, "%s", folder);
    prefix_length = strlen(prefix);
    mode = how, target = at, calls = 0, fail_with = error;
    pthread_mutex_unlock(&lock);
}

void shim_trace(int fd) { trace_fd = fd; }
long shim_calls(void) { return calls; }

static void record(char kind, const char *name, int64_t offset, const void *data, uint32_t length) {
    if (trace_fd < 0) return;
    uint16_t size = (uint16_t)strlen(name);
    char head[1 + 2 + 8 + 4 + NAME];
    char *at = head;
    *at++ = kind;
    memcpy(at, &size, 2), at += 2;
    memcpy(at, &offset, 8), at += 8;
    memcpy(at, &length, 4), at += 4;
    memcpy(at, name, size), at += size;
    real_write(trace_fd, head, (size_t)(at - head));
    if (length) real_write(trace_fd, data, length);
}

void shim_mark(int64_t number) {
    pthread_mutex_lock(&lock);
    record('M', "", number, NULL, 0);
    pthread_mutex_unlock(&lock);
}

static const char *below(const char *path) {
    size_t length = strlen(path);
    if (mode == OFF || !prefix_length || strncmp(path, prefix, prefix_length)) return NULL;
    if (length > 5 && !strcmp(path + length - 5, ".lock")) return NULL;
    const char *rest = path + prefix_length;
    return *rest == '/' ? rest + 1 : *rest ? NULL : ".";
}

/* True: the call must fail with `fail_with`. Does not return when this is the call to die at. */
static int gate(void) {
    calls++;
    if (mode == KILL && calls == target) kill(getpid(), SIGKILL), pause();
    return (mode == FAIL_ONCE && calls == target) || (mode == FAIL_ON && calls >= target);
}

static int is_tracked(int fd) { return mode != OFF && fd >= 0 && fd < MOST_FILES && tracked[fd]; }

static int opened(const char *path, int flags, mode_t rights) {
    const char *name = below(path);
    int fd = real_open(path, flags, rights);
    if (name && fd >= 0 && fd < MOST_FILES) {
        pthread_mutex_lock(&lock);
        tracked[fd] = 1;
        snprintf(names[fd], NAME, "%s", name);
        if (flags & O_CREAT) record('C', name, 0, NULL, 0);
        pthread_mutex_unlock(&lock);
    }
    return fd;
}

#define OPEN(function) \
    int function(const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t rights = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return opened(path, flags, rights); \
    }
OPEN(open)
OPEN(open64)

int close(int fd) {
    if (fd >= 0 && fd < MOST_FILES) tracked[fd] = 0;
    return real_close(fd);
}

static ssize_t written(int fd, const void *data, size_t length, off64_t offset) {
    pthread_mutex_lock(&lock);
    if (mode == KILL_TORN && calls + 1 == target) {
        real_pwrite(fd, data, length / 2, offset);
        kill(getpid(), SIGKILL), pause();
    }
    int fails = gate();
    ssize_t done = -1;
    if (fails) errno = fail_with;
    else if ((done = real_pwrite(fd, data, length, offset)) > 0)
        record('W', names[fd], offset, data, (uint32_t)done);
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
    return is_tracked(fd) ? written(fd, data, length, offset) : real_pwrite(fd, data, length, offset);
}
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

ssize_t write(int fd, const void *data, size_t length) {
    if (!is_tracked(fd)) return real_write(fd, data, length);
    off64_t offset = lseek64(fd, 0, SEEK_CUR);
    ssize_t done = written(fd, data, length, offset);
    if (done > 0) lseek64(fd, offset + done, SEEK_SET);
    return done;
}

#define SYNC(function) \
    int function(int fd) { \
        if (!is_tracked(fd)) return real_##function(fd); \
        pthread_mutex_lock(&lock); \
        if (mode == KILL_TORN && calls + 1 == target) kill(getpid(), SIGKILL), pause(); \
        int fails = gate(), done = -1; \
        if (fails) errno = fail_with; \
        else if (!(done = real_##function(fd))) record('S', names[fd], 0, NULL, 0); \
        pthread_mutex_unlock(&lock); \
        return done; \
    }
SYNC(fsync)
SYNC(fdatasync)

int ftruncate64(int fd, off64_t length) {
    if (!is_tracked(fd)) return real_ftruncate(fd, length);
    pthread_mutex_lock(&lock);
    int fails = gate(), done = -1;
    if (fails) errno = fail_with;
    else if (!(done = real_ftruncate(fd, length))) record('T', names[fd], length, NULL, 0);
    pthread_mutex_unlock(&lock);
    return done;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int unlink(const char *path) {
    const char *name = below(path);
    if (!name) return real_unlink(path);
    pthread_mutex_lock(&lock);
    int fails = gate(), done = -1;
    if (fails) errno = fail_with;
    else if (!(done = real_unlink(path))) record('U', name, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return done;
}
