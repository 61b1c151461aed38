import LarderModel

/// What the writes of one commit to one document come to so far, by which Firestore judges the
/// next one, whatever the document is.
///
/// After a write the document exists, after a delete it does not: a precondition that says
/// otherwise can never hold. The messages are Firestore's: applications show and look for them.
struct DocumentWrites {
    /// The first write's condition on the document.
    private let first: Precondition
    private let isVerified: Bool
    /// Whether the document exists after the writes.
    private var exists: Bool

    init(_ mutation: Mutation) {
        first = mutation.precondition
        isVerified = mutation.operation == .verify
        exists = mutation.operation != .delete
    }

    /// Adds the next write of the document.
    ///
    /// - Throws: `invalidArgument` where the writes contradict each other, or one of them verifies.
    mutating func add(_ mutation: Mutation) throws(LarderError) {
        switch (isVerified, mutation.operation) {
        case (true, .verify):
            throw .invalidArgument(
                "the same document cannot be verified more than once in a single request")
        case (true, _):
            throw .invalidArgument(
                "the same document cannot be verified and then written in a single request")
        case (false, .verify):
            throw .invalidArgument(
                "the same document cannot be written and then verified in a single request")
        case (false, _): break
        }
        let isDelete = mutation.operation == .delete
        let isPossible =
            switch mutation.precondition {
            case .none: true
            case .exists(let exists): exists == self.exists
            // That of a delete is judged by its version alone.
            case .updateTime: exists || isDelete
            }
        guard isPossible else {
            let earlier = exists ? Self.word(for: first) : "delete"
            let later = isDelete ? "delete" : Self.word(for: mutation.precondition)
            throw .invalidArgument(
                "Cannot \(earlier) then \(later) an entity in the same request.")
        }
        guard !mutation.precondition.isUpdateTime || mutation.precondition == first else {
            throw .invalidArgument(
                "Cannot collapse mutations with different version preconditions")
        }
        exists = !isDelete
    }

    private static func word(for precondition: Precondition) -> String {
        switch precondition {
        case .none: "upsert"
        case .exists(false): "insert"
        case .exists(true), .updateTime: "update"
        }
    }
}

extension DocumentWrites? {
    /// Adds the first write of a document, or the next.
    mutating func add(_ mutation: Mutation) throws(LarderError) {
        if self == nil {
            self = DocumentWrites(mutation)
        } else {
            try self?.add(mutation)
        }
    }
}

extension Precondition {
    /// Whether the document's version is asked for.
    var isUpdateTime: Bool {
        if case .updateTime = self { true } else { false }
    }
}
