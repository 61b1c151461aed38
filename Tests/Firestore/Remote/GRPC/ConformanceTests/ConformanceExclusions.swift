/// The tests that are about what clients do not have, and why.
enum ConformanceExclusions {
    static let reasons: [String: String] = [
        "listen-reset": "a backend does not bring back the version of a document that it has "
            + "told to be gone; clients, who ask whether it is, believe that it is",
        "listen-target-remove":
            "without a reason it is the answer to a client that listens no more",
        "query-bad-NaN": inequality, "query-bad-null": inequality,
        "query-invalid-path-select": select, "query-select": select,
        "query-select-empty": select, "query-select-last-wins": select,
        "delete-exists-precond": existence, "update-paths-exists-false-precond": existence,
        "set-del-nomerge": unmerged,
        "set-del-nonleaf": "clients delete a field inside a field that is merged as a whole",
        "set-merge-prefix": "clients take a field to merge and one inside it",
        "update-no-paths": nothing, "update-paths-no-paths": nothing,
        "update-paths-fp-dup": "the paths of an update are keys of a dictionary, never double",
    ]

    private static let inequality = "clients leave it to the server to refuse NaN and null"
    private static let unmerged = "clients ignore data that is not among the fields to merge"
    private static let nothing = "clients take an update of no fields: it checks the existence"
    private static let select = "clients listen to whole documents; they select no fields"
    private static let existence = "clients take no precondition of existence from their caller"
}
