"""Where Google's own emulator answers otherwise, by test, and how."""

WORDS = "its messages are not those of Cloud Firestore, which has ours"
SIZE = "takes requests of 4 MiB at most"
LOCKS = "locks documents: the write that is not in the transaction waits for it"

DIFFERENCES = {
    "test_create_document": WORDS,
    "test_create_of_what_exists_is_refused": WORDS,
    "test_update_of_what_is_not_there_is_refused": WORDS,
    "test_list_documents_in_pages": "fails with UNKNOWN for pages in an order of fields",
    "test_list_collection_ids_in_pages": "wants the header 'authorization: Bearer owner'",
    "test_partitions": "has no PartitionQuery",
    "test_partitions_in_pages": "has no PartitionQuery",
    "test_batch_write_tells_of_each": "refuses all writes where one is malformed",
    "test_a_malformed_write_of_a_batch_fails_alone": "refuses all writes where one is malformed",
    "test_write_stream_without_a_token": "does not ask for the token",
    "test_listen_stream_ends_a_target": "tells of a target's documents after it is current",
    "test_a_target_that_is_asked_for_once_ends_itself": "goes on to tell of the target",
    "test_listen_stream_to_several_documents":
        "listens to another database without the header 'google-cloud-resource-prefix'",
    "test_names_that_are_wrong[name8]": "takes ids of more than 1,500 bytes",
    "test_writes_that_are_wrong": "takes a write to another project",
    "test_a_target_without_a_number_ends_its_stream": "fails with UNKNOWN",
    "test_what_larderd_does_not_listen_to_ends_its_target_alone":
        "listens to an offset, and ends the stream with UNKNOWN for a limit below 0",
    "test_a_document_of_another_project_ends_its_target_alone": "listens to it",
    "test_ten_mebibytes_in_a_request": SIZE,
    "test_a_large_answer_comes_whole": SIZE,
    "test_transforms": "update times and server timestamps are milliseconds apart",
    "test_explain_without_running": "does not explain",
    "test_explain_with_running": "does not explain",
    "test_query_as_of_the_past": "keeps the past as long as it runs; larderd the last 1,000 commits of an hour",
    "test_the_last_response_has_the_metrics": "does not explain",
    "test_explain_of_figures": "does not explain",
    "test_explain_names_the_search_for_nearest_vectors": "does not explain",
    "test_contention_ends_with_aborted": LOCKS,
    "test_what_a_query_found_is_guarded_too": LOCKS,
    "test_a_figure_is_guarded_too": LOCKS,
    "test_attempts_end": LOCKS,
    "test_counters_under_contention": "takes minutes: waiting transactions time out",
    "test_transfers_under_contention": "takes minutes: waiting transactions time out",
    "test_a_client_that_stops_reading_harms_nobody": SIZE,
}
