/*
 * refusal_calls.h - a call of every function of larder.h, for refusal_test.c.
 *
 *     STATUS(name, "word word ...", (arguments))
 *
 * The words say what each slot holds (refusal_kit.c); with a ? in front it may be NULL. P, B, I, J, U,
 * L, Z, D and T pass a slot on as pointer, bytes, int32_t, int64_t, uint32_t, uint64_t, size_t, double
 * and time; C is a callback, or NULL where the slot holds 0. STATUS is a function that returns a status,
 * NUMBER one that returns something else, NOTHING one that returns nothing.
 */
#ifndef LARDER_TEST_REFUSAL_CALLS_H
#define LARDER_TEST_REFUSAL_CALLS_H

#define REFUSAL_CALLS(STATUS, NUMBER, NOTHING)                                                     \
    /* library */                                                                                  \
    NUMBER(version, "", ())                                                                        \
    NUMBER(version_number, "", ())                                                                 \
    NUMBER(format_version, "", ())                                                                 \
    NUMBER(strerror, "number", (I(0)))                                                             \
    NUMBER(status_name, "number", (I(0)))                                                          \
    NUMBER(limit_name_bytes, "", ())                                                               \
    NUMBER(limit_id_bytes, "", ())                                                                 \
    NUMBER(limit_document_bytes, "", ())                                                           \
    NUMBER(limit_depth, "", ())                                                                    \
    NUMBER(limit_budget_bytes, "", ())                                                             \
    NUMBER(live_handle_count, "", ())                                                              \
    /* environment */                                                                              \
    NOTHING(env_options_init, "init struct-bytes", (P(0), Z(1)))                                   \
    STATUS(env_open, "?ignored-path ?open-options open-env", (P(0), P(1), P(2), error))            \
    STATUS(env_close, "?ending-env", (P(0), error))                                                \
    STATUS(env_opening, "env opening", (P(0), P(1), error))                                        \
    NUMBER(env_quarantine, "env", (P(0)))                                                          \
    NUMBER(env_path, "env", (P(0)))                                                                \
    STATUS(env_sync, "env", (P(0), error))                                                         \
    STATUS(env_set_budget, "env budget", (P(0), J(1), error))                                      \
    STATUS(env_stat, "read stat", (P(0), P(1), error))                                             \
    STATUS(env_copy, "env new-path callback", (P(0), P(1), C(2), NULL, error))                     \
    STATUS(env_compact, "env new-path callback", (P(0), P(1), C(2), NULL, error))                  \
    STATUS(env_salvaged, "env salvage-report", (P(0), P(1), error))                                \
    STATUS(salvage, "closed-store new-path callback salvage-report",                               \
           (P(0), P(1), C(2), NULL, P(3), error))                                                  \
    STATUS(check, "read callback callback check-report",                                           \
           (P(0), s[1].number ? on_problem : NULL, C(2), NULL, P(3), error))                       \
    STATUS(check_pages, "closed-store callback callback pages-report",                             \
           (P(0), s[1].number ? on_page_problem : NULL, C(2), NULL, P(3), error))                  \
    /* transactions */                                                                             \
    STATUS(txn_begin_read, "env open-read", (P(0), P(1), error))                                   \
    STATUS(txn_begin_write, "env open-write", (P(0), P(1), error))                                 \
    STATUS(txn_commit, "ending-write", (P(0), error))                                              \
    NOTHING(txn_abort, "ending-write", (P(0)))                                                     \
    NOTHING(txn_end_read, "ending-read", (P(0)))                                                   \
    NUMBER(txn_commit_number, "read", (P(0)))                                                      \
    NUMBER(txn_env, "read", (P(0)))                                                                \
    /* values */                                                                                   \
    STATUS(value_type, "integer", (B(0)))                                                          \
    STATUS(value_validate, "map depth", (B(0), U(1), error))                                       \
    STATUS(value_get_boolean, "boolean out", (B(0), P(1)))                                         \
    STATUS(value_get_integer, "integer out", (B(0), P(1)))                                         \
    STATUS(value_get_double, "double out", (B(0), P(1)))                                           \
    STATUS(value_get_timestamp, "timestamp out", (B(0), P(1)))                                     \
    STATUS(value_get_bytes, "string out", (B(0), P(1)))                                            \
    STATUS(value_get_geo_point, "geo-point out out", (B(0), P(1), P(2)))                           \
    STATUS(value_get_server_timestamp, "pending out out", (B(0), P(1), P(2)))                      \
    STATUS(value_count, "array out", (B(0), P(1)))                                                 \
    STATUS(value_get_element, "array position out", (B(0), Z(1), P(2)))                            \
    STATUS(value_get_component, "vector position out", (B(0), Z(1), P(2)))                         \
    STATUS(value_get_entry, "map position out out", (B(0), Z(1), P(2), P(3)))                      \
    STATUS(value_find, "map field-name out", (B(0), B(1), P(2)))                                   \
    NUMBER(value_compare, "map map", (B(0), B(1)))                                                 \
    NUMBER(value_equal, "map map", (B(0), B(1)))                                                   \
    STATUS(value_size, "map", (B(0)))                                                              \
    STATUS(order_encode, "map zero buffer capacity needed", (B(0), I(1), P(2), Z(3), P(4), error)) \
    STATUS(order_encode_type, "zero zero zero buffer capacity needed",                             \
           (I(0), I(1), I(2), P(3), Z(4), P(5), error))                                            \
    STATUS(path_encode, "segments count buffer capacity needed",                                   \
           (P(0), Z(1), P(2), Z(3), P(4), error))                                                  \
    STATUS(path_parse, "field-name buffer capacity needed", (B(0), P(1), Z(2), P(3), error))       \
    STATUS(path_format, "field-path buffer capacity needed", (B(0), P(1), Z(2), P(3), error))      \
    NOTHING(field_init, "out field-path", (P(0), B(1)))                                            \
    /* records */                                                                                  \
    STATUS(record_open, "plain depth zero out", (B(0), U(1), J(2), P(3), error))                   \
    STATUS(record_open_trusted, "plain out", (B(0), P(1), error))                                  \
    NUMBER(record_count, "record", (P(0)))                                                         \
    STATUS(record_get_entry, "record position out out ?out", (P(0), Z(1), P(2), P(3), P(4)))       \
    STATUS(record_find, "record field out ?out", (P(0), P(1), P(2), P(3)))                         \
    NUMBER(record_cold_bytes, "record", (P(0)))                                                    \
    STATUS(record_load, "record buffer capacity out", (P(0), P(1), Z(2), P(3), error))             \
    STATUS(record_copy, "record buffer capacity needed", (P(0), P(1), Z(2), P(3), error))          \
    STATUS(record_size, "record", (P(0)))                                                          \
    STATUS(record_detach, "record buffer capacity needed open-detached",                           \
           (P(0), P(1), Z(2), P(3), P(4), error))                                                  \
    NUMBER(detached_record, "detached", (P(0)))                                                    \
    STATUS(detached_load, "detached out", (P(0), P(1), error))                                     \
    STATUS(detached_plain, "detached out", (P(0), P(1), error))                                    \
    NOTHING(detached_end, "?ending-detached", (P(0)))                                              \
    STATUS(record_patch, "?plain-record plain-record mask count builder out",                      \
           (P(0), P(1), P(2), Z(3), P(4), P(5), error))                                            \
    /* builder */                                                                                  \
    STATUS(builder_create, "?allocator open-builder", (P(0), P(1), error))                         \
    NOTHING(builder_close, "?ending-builder", (P(0)))                                              \
    NOTHING(builder_reset, "builder", (P(0)))                                                      \
    STATUS(builder_name, "map-builder field-name", (P(0), B(1), error))                            \
    STATUS(builder_null, "builder", (P(0), error))                                                 \
    STATUS(builder_boolean, "builder number", (P(0), I(1), error))                                 \
    STATUS(builder_integer, "builder number", (P(0), J(1), error))                                 \
    STATUS(builder_double, "builder real", (P(0), D(1), error))                                    \
    STATUS(builder_timestamp, "builder time", (P(0), T(1), error))                                 \
    STATUS(builder_string, "builder field-name", (P(0), B(1), error))                              \
    STATUS(builder_bytes, "builder field-name", (P(0), B(1), error))                               \
    STATUS(builder_reference, "builder name", (P(0), B(1), error))                                 \
    STATUS(builder_geo_point, "builder real real", (P(0), D(1), D(2), error))                      \
    STATUS(builder_vector, "builder components count", (P(0), P(1), Z(2), error))                  \
    STATUS(builder_server_timestamp, "builder time integer", (P(0), T(1), B(2), error))            \
    STATUS(builder_max, "builder", (P(0), error))                                                  \
    STATUS(builder_begin_array, "builder", (P(0), error))                                          \
    STATUS(builder_end_array, "array-builder", (P(0), error))                                      \
    STATUS(builder_begin_map, "builder", (P(0), error))                                            \
    STATUS(builder_end_map, "map-builder", (P(0), error))                                          \
    STATUS(builder_value, "builder map", (P(0), B(1), error))                                      \
    STATUS(builder_finish_record, "whole-builder out", (P(0), P(1), error))                        \
    STATUS(builder_finish_value, "whole-builder out", (P(0), P(1), error))                         \
    /* documents and scans */                                                                      \
    NOTHING(document_info_init, "init struct-bytes", (P(0), Z(1)))                                 \
    STATUS(document_put, "write name info plain", (P(0), B(1), P(2), B(3), error))                 \
    STATUS(document_get, "read name out", (P(0), B(1), P(2), error))                               \
    STATUS(document_remove, "write name", (P(0), B(1), error))                                     \
    STATUS(document_get_local, "read user name out", (P(0), B(1), B(2), P(3), error))              \
    STATUS(collection_get, "read path out", (P(0), B(1), P(2), error))                             \
    STATUS(collection_scan, "read name open-scan", (P(0), B(1), P(2), error))                      \
    STATUS(collection_next, "collection-scan out", (P(0), P(1), error))                            \
    NOTHING(scan_options_init, "init struct-bytes", (P(0), Z(1)))                                  \
    STATUS(scan_collection, "read path ?id-options open-scan", (P(0), B(1), P(2), P(3), error))    \
    STATUS(scan_group, "read path ?name-options open-scan", (P(0), B(1), P(2), P(3), error))       \
    STATUS(scan_read_time, "read path time id ?time-options open-scan",                            \
           (P(0), B(1), T(2), B(3), P(4), P(5), error))                                            \
    STATUS(scan_next, "scan out", (P(0), P(1), error))                                             \
    NOTHING(scan_close, "?ending-scan", (P(0)))                                                    \
    /* mutations and overlays */                                                                   \
    STATUS(mutation_append, "write user time documents count payload out",                         \
           (P(0), B(1), T(2), P(3), Z(4), B(5), P(6), error))                                      \
    STATUS(mutation_get, "read user number out", (P(0), B(1), J(2), P(3), error))                  \
    STATUS(mutation_next, "read user number out", (P(0), B(1), J(2), P(3), error))                 \
    STATUS(batch_get_document, "batch position out", (P(0), Z(1), P(2)))                           \
    STATUS(mutation_remove, "write user number", (P(0), B(1), J(2), error))                        \
    STATUS(mutation_record_attempt, "write user number time payload",                              \
           (P(0), B(1), J(2), T(3), B(4), error))                                                  \
    STATUS(mutation_find_document, "read user name buffer capacity out",                           \
           (P(0), B(1), B(2), P(3), Z(4), P(5), error))                                            \
    STATUS(mutation_next_touching, "read user name number out",                                    \
           (P(0), B(1), B(2), J(3), P(4), error))                                                  \
    STATUS(mutation_find_collection, "read user path buffer capacity out",                         \
           (P(0), B(1), B(2), P(3), Z(4), P(5), error))                                            \
    STATUS(mutation_count, "read user out", (P(0), B(1), P(2), error))                             \
    STATUS(mutation_next_user, "read ?users out", (P(0), P(1), P(2), error))                       \
    STATUS(overlay_put, "write user name number plain payload",                                    \
           (P(0), B(1), B(2), J(3), B(4), B(5), error))                                            \
    STATUS(overlay_get, "read user name out ?out", (P(0), B(1), B(2), P(3), P(4), error))          \
    STATUS(overlay_remove, "write user name", (P(0), B(1), B(2), error))                           \
    STATUS(overlay_remove_batch, "write user number ?out", (P(0), B(1), J(2), P(3), error))        \
    STATUS(overlay_scan_collection, "read user path zero open-scan",                               \
           (P(0), B(1), B(2), J(3), P(4), error))                                                  \
    STATUS(overlay_scan_group, "read user path zero open-scan",                                    \
           (P(0), B(1), B(2), J(3), P(4), error))                                                  \
    STATUS(overlay_scan_batch, "read user number open-scan", (P(0), B(1), J(2), P(3), error))      \
    /* targets and values by name */                                                               \
    STATUS(target_put, "write target", (P(0), P(1), error))                                        \
    STATUS(target_get, "read number target-out", (P(0), I(1), P(2), error))                        \
    STATUS(target_find, "read payload buffer capacity out", (P(0), B(1), P(2), Z(3), P(4), error)) \
    STATUS(target_next, "read zero target-out", (P(0), I(1), P(2), error))                         \
    STATUS(target_remove, "write number", (P(0), I(1), error))                                     \
    STATUS(target_highest_id, "read out", (P(0), P(1), error))                                     \
    STATUS(target_add_document, "write number name", (P(0), I(1), B(2), error))                    \
    STATUS(target_remove_document, "write number name", (P(0), I(1), B(2), error))                 \
    STATUS(target_change_documents, "write number names count names count",                        \
           (P(0), I(1), P(2), Z(3), P(4), Z(5), error))                                            \
    STATUS(target_document_count, "read number out", (P(0), I(1), P(2), error))                    \
    STATUS(target_scan, "read number ?user-options open-scan", (P(0), I(1), P(2), P(3), error))    \
    STATUS(target_find_document, "read name buffer capacity out",                                  \
           (P(0), B(1), P(2), Z(3), P(4), error))                                                  \
    STATUS(named_put, "write number field-name time payload",                                      \
           (P(0), I(1), B(2), T(3), B(4), error))                                                  \
    STATUS(named_get, "read number field-name ?out ?out", (P(0), I(1), B(2), P(3), P(4), error))   \
    STATUS(named_remove, "write number field-name", (P(0), I(1), B(2), error))                     \
    STATUS(named_next, "read number field-name out ?out ?out",                                     \
           (P(0), I(1), B(2), P(3), P(4), P(5), error))                                            \
    /* indexes and sets */                                                                         \
    STATUS(index_define, "write path index-segments count out",                                    \
           (P(0), B(1), P(2), Z(3), P(4), error))                                                  \
    STATUS(index_get, "read number out", (P(0), U(1), P(2), error))                                \
    STATUS(index_next, "read zero out", (P(0), U(1), P(2), error))                                 \
    STATUS(index_drop, "write number zero", (P(0), U(1), J(2), error))                             \
    STATUS(index_backfill, "write second zero zero ?out ?out",                                     \
           (P(0), U(1), J(2), J(3), P(4), P(5), error))                                            \
    STATUS(index_scan, "read number path ?order-options open-scan",                                \
           (P(0), U(1), B(2), P(3), P(4), error))                                                  \
    STATUS(index_scan_entry, "index-scan out", (P(0), P(1), error))                                \
    STATUS(set_create, "read open-set", (P(0), P(1), error))                                       \
    NOTHING(set_close, "?ending-set", (P(0)))                                                      \
    STATUS(set_add_scan, "set scan", (P(0), P(1), error))                                          \
    STATUS(set_intersect, "set other-set", (P(0), P(1), error))                                    \
    STATUS(set_union, "set other-set", (P(0), P(1), error))                                        \
    NUMBER(set_count, "set", (P(0)))                                                               \
    STATUS(set_scan, "set ?user-options open-scan", (P(0), P(1), P(2), error))                     \
    /* nodes */                                                                                    \
    NUMBER(node_compare_keys, "key key", (B(0), B(1)))                                             \
    STATUS(node_validate, "node", (B(0), error))                                                   \
    STATUS(node_open, "node out", (B(0), P(1), error))                                             \
    STATUS(node_take_child, "children out out", (P(0), P(1), P(2), error))                         \
    STATUS(node_builder_create, "?allocator open-node-builder", (P(0), P(1), error))               \
    NOTHING(node_builder_close, "?ending-node-builder", (P(0)))                                    \
    NOTHING(node_builder_reset, "node-builder", (P(0)))                                            \
    STATUS(node_builder_key, "children-builder key", (P(0), B(1), error))                          \
    STATUS(node_builder_leaf, "node-builder leaf ?leaf", (P(0), P(1), P(2), error))                \
    STATUS(node_builder_begin_children, "node-builder ?leaf", (P(0), P(1), error))                 \
    STATUS(node_builder_end_children, "children-builder", (P(0), error))                           \
    STATUS(node_builder_node, "node-builder node", (P(0), B(1), error))                            \
    STATUS(node_builder_finish, "node-builder out", (P(0), P(1), error))                           \
    STATUS(node_tree_find, "read key out", (P(0), B(1), P(2), error))                              \
    STATUS(node_tree_obtain, "write field-name out", (P(0), B(1), P(2), error))                    \
    STATUS(node_tree_next, "read zero out out", (P(0), L(1), P(2), P(3), error))                   \
    STATUS(node_read, "read number key node-builder", (P(0), L(1), B(2), P(3), error))             \
    STATUS(node_read_children, "read number key keys count node-builder",                          \
           (P(0), L(1), B(2), P(3), Z(4), P(5), error))                                            \
    STATUS(node_read_page, "read number key page node-builder",                                    \
           (P(0), L(1), B(2), P(3), P(4), error))                                                  \
    STATUS(node_read_window, "read number key window node-builder",                                \
           (P(0), L(1), B(2), P(3), P(4), error))                                                  \
    STATUS(node_count, "read number key out", (P(0), L(1), B(2), P(3), error))                     \
    STATUS(node_usage, "read number key out", (P(0), L(1), B(2), P(3), error))                     \
    STATUS(node_put, "write number key node", (P(0), L(1), B(2), B(3), error))                     \
    STATUS(node_merge, "write number key changes count", (P(0), L(1), B(2), P(3), Z(4), error))    \
    STATUS(node_query_put, "write number query", (P(0), L(1), P(2), error))                        \
    STATUS(node_query_get, "read number number query-out", (P(0), L(1), J(2), P(3), error))        \
    STATUS(node_query_next, "read number zero query-out", (P(0), L(1), J(2), P(3), error))         \
    STATUS(node_query_remove, "write number number", (P(0), L(1), J(2), error))                    \
    STATUS(node_query_touch, "write number number", (P(0), L(1), J(2), error))                     \
    STATUS(node_query_change_keys, "write number number keys count keys count",                    \
           (P(0), L(1), J(2), P(3), Z(4), P(5), Z(6), error))                                      \
    STATUS(node_query_keys, "read number number node-builder", (P(0), L(1), J(2), P(3), error))    \
    STATUS(node_pin, "env number key", (P(0), L(1), B(2), error))                                  \
    STATUS(node_unpin, "env number key", (P(0), L(1), B(2), error))                                \
    STATUS(node_write_put, "write number zero node-write", (P(0), L(1), I(2), P(3), error))        \
    STATUS(node_write_get, "read number zero number write-out",                                    \
           (P(0), L(1), I(2), J(3), P(4), error))                                                  \
    STATUS(node_write_next, "read number zero zero write-out",                                     \
           (P(0), L(1), I(2), J(3), P(4), error))                                                  \
    STATUS(node_write_remove, "write number zero number", (P(0), L(1), I(2), J(3), error))         \
    STATUS(node_write_highest_id, "read number out", (P(0), L(1), P(2), error))                    \
    /* blobs and compressors */                                                                    \
    STATUS(blob_train, "write zero zero ?out", (P(0), Z(1), Z(2), P(3), error))                    \
    STATUS(blob_repack, "write number repack ?out", (P(0), J(1), P(2), P(3), error))               \
    STATUS(blob_compress, "read payload buffer capacity needed",                                   \
           (P(0), B(1), P(2), Z(3), P(4), error))                                                  \
    STATUS(blob_decompress, "read frame size buffer capacity needed",                              \
           (P(0), B(1), Z(2), P(3), Z(4), P(5), error))                                            \
    STATUS(dictionary_next, "read zero out", (P(0), U(1), P(2), error))                            \
    STATUS(compressor_create, "open-compressor", (P(0), error))                                    \
    NOTHING(compressor_close, "?ending-compressor", (P(0)))                                        \
    STATUS(compressor_compress, "compressor payload buffer capacity needed",                       \
           (P(0), B(1), P(2), Z(3), P(4), error))                                                  \
    STATUS(compressor_decompress, "compressor zstd-frame buffer capacity needed",                  \
           (P(0), B(1), P(2), Z(3), P(4), error))                                                  \
    /* LRU */                                                                                      \
    STATUS(lru_touch, "env name", (P(0), B(1), error))                                             \
    STATUS(lru_pin, "env name", (P(0), B(1), error))                                               \
    STATUS(lru_unpin, "env name", (P(0), B(1), error))                                             \
    STATUS(lru_pin_target, "env number", (P(0), I(1), error))                                      \
    STATUS(lru_unpin_target, "env number", (P(0), I(1), error))                                    \
    STATUS(cache_rules_set, "write rules count", (P(0), P(1), Z(2), error))                        \
    STATUS(cache_rules_get, "read position rule-out", (P(0), Z(1), P(2), error))                   \
    STATUS(lru_set_time, "env clock", (P(0), J(1), error))                                         \
    STATUS(lru_step, "env goal zero zero lru-result", (P(0), J(1), J(2), J(3), P(4), error))       \
    STATUS(lru_sweep, "env zero zero lru-result", (P(0), J(1), J(2), P(3), error))                 \
    NUMBER(lru_commit_number, "env", (P(0)))

#endif
