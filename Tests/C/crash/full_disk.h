/* full_disk.h - a store on a file system that is really full. */
#ifndef LARDER_FULL_DISK_H
#define LARDER_FULL_DISK_H

/* Fills a file system below a directory, reads, evicts, writes and opens again; where none can be
 * mounted, up to a limit of the file's size. With shim_fault.so loaded; where one can be mounted also
 * removes documents while a checkpoint is being written. */
void full_disk_run(const char *directory);

#endif
