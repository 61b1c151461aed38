/* platform.c - see platform.h. */
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#ifdef __APPLE__

#include <copyfile.h>
#include <stdlib.h>

int larder__sync_data(int file) {
    /* fsync leaves data in the cache of the drive. Some file systems have nothing else. */
    while (fcntl(file, F_FULLFSYNC) != 0) {
        if (errno == EINTR) continue;
        if (errno != ENOTSUP && errno != EINVAL && errno != ENOTTY) return errno;
        return fsync(file) == 0 ? 0 : errno;
    }
    return 0;
}

int larder__reserve_blocks(int file, off_t offset, off_t size) {
    /* F_PREALLOCATE counts from the last block, not from an offset. */
    (void)file, (void)offset, (void)size;
    return EOPNOTSUPP;
}

int larder__copy_data(int from, int to) {
    return fcopyfile(from, to, NULL, COPYFILE_DATA) == 0 ? 0 : errno;
}

bool larder__random(void *bytes, size_t size) {
    arc4random_buf(bytes, size);
    return true;
}

#else

#include <sys/random.h>
#include <sys/sendfile.h>

#define COPY_BYTES ((size_t)1 << 30)

int larder__sync_data(int file) {
    while (fdatasync(file) != 0)
        if (errno != EINTR) return errno;
    return 0;
}

int larder__reserve_blocks(int file, off_t offset, off_t size) {
    while (fallocate(file, FALLOC_FL_KEEP_SIZE, offset, size) != 0)
        if (errno != EINTR) return errno == ENOSYS ? EOPNOTSUPP : errno;
    return 0;
}

int larder__copy_data(int from, int to) {
    while (true) {
        ssize_t n = copy_file_range(from, NULL, to, NULL, COPY_BYTES, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS))
            n = sendfile(to, from, NULL, COPY_BYTES);
        if (n <= 0) return n < 0 ? errno : 0;
    }
}

bool larder__random(void *bytes, size_t size) {
    return getrandom(bytes, size, GRND_NONBLOCK) == (ssize_t)size;
}

#endif
