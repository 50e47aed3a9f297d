/* LD_PRELOAD: beside each file of a store (*.db, *.db-wal) keeps FILE.synced, what a power cut would leave for certain.
 *
 * Writes are remembered; fsync and fdatasync copy what was written since the last one into FILE.synced, after the real
 * sync. With POWER_FAIL=n in the environment, the n-th sync of a store's file fails with EIO. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 16, RANGES = 4096, PATH = 512 };

struct dirty {
    char path[PATH];
    int count, all;
    off_t at[RANGES];
    size_t size[RANGES];
};
static struct dirty files[FILES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int syncs;

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

static int ends(const char *path, const char *with) {
    size_t a = strlen(path), b = strlen(with);
    return a >= b && !strcmp(path + a - b, with);
}
static struct dirty *tracked(const char *path) {
    if (!ends(path, ".db") && !ends(path, ".db-wal")) return NULL;
    for (int i = 0; i < FILES; ++i) {
        if (!files[i].path[0]) strcpy(files[i].path, path);
        if (!strcmp(files[i].path, path)) return &files[i];
    }
    return NULL;
}
static struct dirty *of(int fd) {
    char link[64], path[PATH];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH - 1);
    if (n <= 0) return NULL;
    path[n] = 0;
    return tracked(path);
}
static void written(int fd, off_t at, ssize_t size) {
    if (size <= 0) return;
    pthread_mutex_lock(&lock);
    struct dirty *f = of(fd);
    if (f) {
        if (f->count == RANGES) f->all = 1;
        else f->at[f->count] = at, f->size[f->count] = (size_t)size, f->count++;
    }
    pthread_mutex_unlock(&lock);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) {
    ssize_t n = REAL("pwrite64", ssize_t (*)(int, const void *, size_t, off_t))(fd, data, size, at);
    written(fd, at, n);
    return n;
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }
ssize_t write(int fd, const void *data, size_t size) {
    off_t at = lseek(fd, 0, SEEK_CUR);
    ssize_t n = REAL("write", ssize_t (*)(int, const void *, size_t))(fd, data, size);
    if (at >= 0) written(fd, at, n);
    return n;
}
static void copy(int from, int to, off_t at, size_t size) {
    static char part[1 << 16];
    while (size > 0) {
        ssize_t n = pread(from, part, size < sizeof part ? size : sizeof part, at);
        if (n <= 0) return;
        REAL("pwrite64", ssize_t (*)(int, const void *, size_t, off_t))(to, part, (size_t)n, at);
        at += n, size -= (size_t)n;
    }
}
static void kept(int fd) {
    pthread_mutex_lock(&lock);
    struct dirty *f = of(fd);
    if (f) {
        char name[PATH + 16];
        struct stat now;
        snprintf(name, sizeof name, "%s.synced", f->path);
        int from = open(f->path, O_RDONLY), to = open(name, O_CREAT | O_RDWR, 0600);
        fstat(from, &now);
        if (f->all) copy(from, to, 0, (size_t)now.st_size);
        else for (int i = 0; i < f->count; ++i) copy(from, to, f->at[i], f->size[i]);
        if (ftruncate(to, now.st_size)) abort();
        close(from), close(to);
        f->count = f->all = 0;
    }
    pthread_mutex_unlock(&lock);
}
static int synced(int fd, const char *name) {
    const char *fail = getenv("POWER_FAIL");
    if (fail && of(fd) && ++syncs >= atoi(fail)) {
        errno = EIO;
        return -1;
    }
    int told = REAL(name, int (*)(int))(fd);
    if (!told) kept(fd);
    return told;
}
int fsync(int fd) { return synced(fd, "fsync"); }
int fdatasync(int fd) { return synced(fd, "fdatasync"); }
int unlink(const char *path) {
    char name[PATH + 16];
    int told = REAL("unlink", int (*)(const char *))(path);
    pthread_mutex_lock(&lock);
    struct dirty *f = tracked(path);
    if (f) {
        f->count = f->all = 0;
        snprintf(name, sizeof name, "%s.synced", path);
        REAL("unlink", int (*)(const char *))(name);
    }
    pthread_mutex_unlock(&lock);
    return told;
}
