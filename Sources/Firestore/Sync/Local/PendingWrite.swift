package import LarderModel

/// Changes that an application makes together: they become one batch of the queue, or none.
package struct PendingWrite: Sendable {
    /// The changes, in the order in which they were asked for.
    package let mutations: [Mutation]
    /// When they were made, by the local clock.
    package let localWriteTime: Timestamp
    /// What must still hold of the local view for the changes to be made.
    package let expectations: [Expectation]

    /// What a transaction has read and relies on.
    package struct Expectation: Sendable {
        /// The document.
        package let path: DocumentPath
        /// The document as it was read; nil when nothing was known of it.
        package let document: Document?

        /// What was read of a document.
        package init(path: DocumentPath, document: Document?) {
            self.path = path
            self.document = document
        }
    }

    /// Changes to be made together.
    package init(
        mutations: [Mutation], localWriteTime: Timestamp, expectations: [Expectation] = []
    ) {
        self.mutations = mutations
        self.localWriteTime = localWriteTime
        self.expectations = expectations
    }
}
