/// The one change that turns a cached document into a user's local view of it.
///
/// The fields that it writes are those of the view itself, which the store keeps beside it.
package struct OverlayMutation: Sendable, Equatable {
    /// What is done to the document.
    package enum Operation: Sendable, Equatable {
        /// It becomes the view, whatever it was.
        case set
        /// Each path of the mask becomes what the view has there, or goes.
        case patch(FieldMask)
        /// It goes.
        case delete
    }

    /// What is done to the document.
    package let operation: Operation
    /// Whether the pending writes must be applied again when the document below changes, even
    /// if it goes on to exist or not to exist.
    package let dependsOnContents: Bool

    /// A change into a local view.
    package init(_ operation: Operation, dependsOnContents: Bool = false) {
        self.operation = operation
        self.dependsOnContents = dependsOnContents
    }

    /// The local view over a document that has changed, from the view before.
    ///
    /// The same as applying the pending writes again, as long as ``dependsOnContents`` is false
    /// and the document has neither begun nor ceased to exist.
    package func applied(
        to document: WorkingDocument, view: Record?, using builder: RecordBuilder
    ) throws(LarderError) -> Record? {
        guard case .patch(let mask) = operation, let view else { return view }
        return try builder.patch(document.record, with: view, mask: mask)
    }
}

extension WorkingDocument {
    /// The change that makes this local view at once; nil where no pending write is in it.
    ///
    /// - Parameter isCached: whether the document below exists with known fields; else the view
    ///   stands for itself.
    package func overlay(overFound isCached: Bool) -> OverlayMutation? {
        guard hasLocalMutations else { return nil }
        guard isFound else { return OverlayMutation(.delete, dependsOnContents: dependsOnContents) }
        guard isCached, case .fields(let paths) = changes else {
            return OverlayMutation(.set, dependsOnContents: dependsOnContents)
        }
        return OverlayMutation(
            .patch(FieldMask(paths)), dependsOnContents: dependsOnContents)
    }
}
