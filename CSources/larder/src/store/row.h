/*
 * row.h - a document's stored bytes, the value of table documents and the tail of an overlay.
 *
 *   0      flags: bits 0-1 state (1 found, 2 absent, 3 unknown); 04 committed mutations;
 *          08 create time present; 10 read time present; 20 names inline; 40 cold part present
 *   1..4   checksum (bytes.h) over the key, byte 0, and bytes 9 up to a frame with a checksum of
 *          its own, or to the end
 *   5..8   LRU epoch, little-endian (outside the checksum: a touch changes it in place)
 *   9..17  version (time)
 *          create time (9)     when flag 08; else it equals the version for a found document
 *                              and is none for the others
 *          read time (9)       when flag 10; else it equals the version
 *   found documents then have
 *          shape varint        or, with flag 20, names size varint and names container
 *          values size varint, values container (record.h, with cold tags)
 *   with flag 40
 *          raw size varint, dictionary varint (0 none; 1 stored raw; else id + 1),
 *          checksum of the frame (4, when it has 160 bytes or more), frame
 *
 * The frame is a zstd frame without its 4-byte magic number. Its checksum is tested when it is
 * decompressed: a scan that does not need it does not touch its bytes.
 */
#ifndef LARDER_ROW_H
#define LARDER_ROW_H

#include "internal.h"

enum {
    LARDER__ROW_STATE = 0x03,
    LARDER__ROW_COMMITTED = 0x04,
    LARDER__ROW_CREATE_TIME = 0x08,
    LARDER__ROW_READ_TIME = 0x10,
    LARDER__ROW_NAMES = 0x20,
    LARDER__ROW_COLD = 0x40
};
#define LARDER__ROW_EPOCH_AT 5
#define LARDER__ROW_VERSION_AT 9
#define LARDER__ROW_HEAD_BYTES 18

#endif
