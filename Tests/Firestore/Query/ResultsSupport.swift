import LarderModel

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
