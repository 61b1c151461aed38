/* suites.h - every suite of the C tests, in the order they run; one a line: SUITE(name). */
#ifndef LARDER_SUITES_H
#define LARDER_SUITES_H

#define TEST_SUITES(SUITE)                                                                         \
    SUITE(bytes)                                                                                   \
    SUITE(value)                                                                                   \
    SUITE(compare)                                                                                 \
    SUITE(order)                                                                                   \
    SUITE(path)                                                                                    \
    SUITE(builder)                                                                                 \
    SUITE(record)                                                                                  \
    SUITE(split)                                                                                   \
    SUITE(patch)                                                                                   \
    SUITE(detached)                                                                                \
    SUITE(mutation)                                                                                \
    SUITE(mutation_model)                                                                          \
    SUITE(overlay)                                                                                 \
    SUITE(overlay_model)                                                                           \
    SUITE(target)                                                                                  \
    SUITE(target_model)                                                                            \
    SUITE(index)                                                                                   \
    SUITE(index_scan)                                                                              \
    SUITE(index_backfill)                                                                          \
    SUITE(index_model)                                                                             \
    SUITE(index_memory)                                                                            \
    SUITE(set)                                                                                     \
    SUITE(named)                                                                                   \
    SUITE(table_memory)                                                                            \
    SUITE(environment)                                                                             \
    SUITE(place)                                                                                   \
    SUITE(disk)                                                                                    \
    SUITE(process)                                                                                 \
    SUITE(wal)                                                                                     \
    SUITE(wal_record)                                                                              \
    SUITE(wal_damage)                                                                              \
    SUITE(wal_share)                                                                               \
    SUITE(guard)                                                                                   \
    SUITE(verify)                                                                                  \
    SUITE(damage)                                                                                  \
    SUITE(catalog)                                                                                 \
    SUITE(row)                                                                                     \
    SUITE(blob)                                                                                    \
    SUITE(compressor)                                                                              \
    SUITE(lru)                                                                                     \
    SUITE(evict)                                                                                   \
    SUITE(pin)                                                                                     \
    SUITE(rules)                                                                                   \
    SUITE(node_key)                                                                                \
    SUITE(node_plain)                                                                              \
    SUITE(segment)                                                                                 \
    SUITE(node_edit)                                                                               \
    SUITE(node_page)                                                                               \
    SUITE(node_window)                                                                             \
    SUITE(node_query)                                                                              \
    SUITE(node_sweep)                                                                              \
    SUITE(node_free)                                                                               \
    SUITE(node_write)                                                                              \
    SUITE(node_differential)                                                                       \
    SUITE(node_location)                                                                           \
    SUITE(salvage)                                                                                 \
    SUITE(copy)                                                                                    \
    SUITE(check_nodes)                                                                             \
    SUITE(check)                                                                                   \
    SUITE(differential)                                                                            \
    SUITE(thread)

#endif
