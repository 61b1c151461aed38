import LarderModel

/// A found document with fields.
func document(_ path: DocumentPath, _ fields: MapValue) throws -> Document {
    Document(
        path: path, state: .found, record: try Record(fields), version: .none, createTime: nil,
        readTime: .none, hasLocalMutations: false, hasCommittedMutations: false,
        largestBatchID: 0, storedBytes: 0)
}

/// A found document with fields, in the collection `cities`.
func city(_ id: String, _ fields: MapValue = [:]) throws -> Document {
    try document(DocumentPath("cities/\(id)"), fields)
}

/// The name of a document as a value.
func reference(_ path: String) throws -> Value {
    .reference(
        ResourceName(database: DatabaseID(project: "p"), document: try DocumentPath(path)))
}

extension Document {
    /// A found document of the collection `c`.
    static func test(_ id: String, _ fields: MapValue = MapValue(), isPending: Bool = false) throws
        -> Document
    {
        Document(
            path: try DocumentPath("c/\(id)"), state: .found, record: try Record(fields),
            version: .none, createTime: nil, readTime: .none, hasLocalMutations: isPending,
            hasCommittedMutations: false, largestBatchID: 0, storedBytes: 0)
    }
}
