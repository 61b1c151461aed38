/// What the backend made of one mutation that it committed.
package struct MutationResult: Sendable, Equatable {
    /// The version that the document has since; the commit's own for a delete.
    package let version: SnapshotVersion
    /// The backend's value for each transform of the mutation, in order.
    package let transformResults: [Value]

    /// What a mutation did.
    package init(version: SnapshotVersion, transformResults: [Value] = []) {
        self.version = version
        self.transformResults = transformResults
    }
}
