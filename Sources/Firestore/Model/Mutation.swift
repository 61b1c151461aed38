/// One change of one document, as an application asks for it.
package struct Mutation: Sendable, Equatable {
    /// What is done to the document.
    package enum Operation: Sendable, Equatable {
        /// The document becomes these fields.
        case set(Record)
        /// Each path of the mask becomes what the record has there, or goes where it has nothing.
        case patch(Record, FieldMask)
        /// The document goes.
        case delete
        /// Nothing; the precondition alone counts. In transactions only.
        case verify
    }

    /// The document.
    package let path: DocumentPath
    /// What is done to it.
    package let operation: Operation
    /// What must hold for the change to be made.
    package let precondition: Precondition
    /// Fields whose values depend on what is there; not for ``Operation/delete``.
    package let transforms: [FieldTransform]

    /// A change of a document.
    package init(
        _ operation: Operation, at path: DocumentPath, precondition: Precondition = .none,
        transforms: [FieldTransform] = []
    ) {
        self.path = path
        self.operation = operation
        self.precondition = precondition
        self.transforms = transforms
    }
}

/// What must hold of a document for a mutation to be applied.
package enum Precondition: Sendable, Hashable {
    /// Nothing.
    case none
    /// The document exists, or does not.
    case exists(Bool)
    /// The document exists at this version.
    case updateTime(SnapshotVersion)
}

/// A field whose new value depends on its old one or on the backend's clock.
package struct FieldTransform: Sendable, Hashable {
    /// How the new value is made.
    package enum Operation: Sendable, Hashable {
        /// The backend's time at the commit.
        case serverTimestamp
        /// The elements that are missing are appended.
        case arrayUnion([Value])
        /// Every element equal to one of these goes.
        case arrayRemove([Value])
        /// The number grows by this integer or double.
        case increment(Value)
        /// The smaller of the number and this one.
        case minimum(Value)
        /// The larger of the number and this one.
        case maximum(Value)
    }

    /// The field.
    package let path: FieldPath
    /// How its value is made.
    package let operation: Operation

    /// A transform of a field.
    package init(_ path: FieldPath, _ operation: Operation) {
        self.path = path
        self.operation = operation
    }
}
