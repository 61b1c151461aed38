import LarderModel

/// One change of a document, as a write asks for it.
public struct WriteChange: Sendable {
    /// What is done to a document.
    public enum Kind: Hashable, Sendable {
        /// It becomes the fields.
        case set
        /// The fields are set in it, whether or not it exists.
        case merge
        /// The fields are set in it; refused when it does not exist.
        case update
        /// It goes.
        case delete
    }

    /// The document.
    public let document: DocumentReference

    /// What is done to it.
    public let kind: Kind

    private let mutation: Mutation

    init(_ mutation: Mutation, of firestore: Firestore) {
        self.mutation = mutation
        document = DocumentReference(firestore, mutation.path)
        kind =
            switch mutation.operation {
            case .set: .set
            case .patch where mutation.precondition == .exists(true): .update
            case .patch, .verify: .merge
            case .delete: .delete
            }
    }

    /// The fields by path, as `updateData` takes them: values, and ``FieldValue``s where the
    /// write removes a field or the backend makes the value.
    ///
    /// Decoded at each call.
    public var fields: [FieldPath: Any] {
        let writer = UserDataWriter(serverTimestamps: .none, references: document.firestore)
        var fields: [FieldPath: Any] = [:]
        switch mutation.operation {
        case .set(let record):
            for (name, value) in record.fields { fields[FieldPath([name])] = writer.value(value) }
        case .patch(let record, let mask):
            for path in mask.paths {
                fields[FieldPath(path.segments)] =
                    record[path].map { writer.value($0) } ?? FieldValue.delete()
            }
        case .delete, .verify: break
        }
        for transform in mutation.transforms {
            fields[FieldPath(transform.path.segments)] = FieldValue(for: transform.operation)
        }
        return fields
    }
}

extension [WriteChange] {
    /// The documents that are changed, each once, in order.
    var documents: [DocumentReference] {
        var seen: Set<DocumentReference> = []
        return compactMap { seen.insert($0.document).inserted ? $0.document : nil }
    }
}
