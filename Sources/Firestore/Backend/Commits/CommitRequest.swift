import LarderModel
import LarderRemote

struct CommitRequest {
    /// The mutations to apply atomically.
    let mutations: [Mutation]
    /// The rules check; nil for the backend's own commits.
    let rulesCheck: RulesCheck?
    /// The reads to validate; nil outside of a transaction.
    var reads: ReadSet?
    /// The transaction of the commit, if any.
    var transaction: TransactionID?
    /// The write stream of the commit, if any: commits of a closed stream are dropped.
    var stream: WriteSession?
    /// The name by which the commit is made once; nil for none.
    var name: WriteToken?
    let completion: (Result<CommitResult, LarderError>) -> Void

    var lockKeys: [LockKey] { Set(mutations.map(\.path)).map { .document($0) } }

    var hasReadQueries: Bool { reads?.hasQueries ?? false }

    /// The maximum size of a request in bytes, unless a document may be larger.
    private static let maxBytes: Int64 = 10 << 20

    /// Validates the request independently of existing documents; throws `invalidArgument`.
    ///
    /// - Parameter maxDocumentBytes: the maximum size of a document.
    func checkAcceptable(maxDocumentBytes: Int64) throws(LarderError) {
        var size: Int64 = 0
        var writes: [DocumentPath: DocumentWrites] = [:]
        for mutation in mutations {
            try mutation.checkAcceptable()
            // A single mutation has no predecessor.
            if mutations.count > 1 { try writes[mutation.path].add(mutation) }
            size += mutation.sizeBytes
        }
        let limit = max(Self.maxBytes, maxDocumentBytes)
        guard size <= limit else {
            throw .invalidArgument("a commit of \(size) bytes; \(limit) are allowed")
        }
    }
}

/// Validates the sequence of writes of one commit to one document, independently of the existing
/// document.
///
/// After a write the document exists, after a delete it does not: a contradicting precondition can
/// never hold. The messages are Firestore's, because applications display and match them.
struct DocumentWrites {
    private let first: Precondition
    private let isVerified: Bool
    private var exists: Bool

    init(_ mutation: Mutation) {
        first = mutation.precondition
        isVerified = mutation.operation == .verify
        exists = mutation.operation != .delete
    }

    /// Adds the next write to the document.
    ///
    /// - Throws: `invalidArgument` if the writes contradict each other or one of them is a
    ///   verification.
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
            // A delete's precondition concerns only the version.
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
    /// Adds the first or next write.
    mutating func add(_ mutation: Mutation) throws(LarderError) {
        if self == nil {
            self = DocumentWrites(mutation)
        } else {
            try self?.add(mutation)
        }
    }
}

extension Precondition {
    var isUpdateTime: Bool {
        if case .updateTime = self { true } else { false }
    }
}

// MARK: - Acceptance

extension Mutation {
    /// Validates the mutation independently of the existing document.
    ///
    /// - Throws: `invalidArgument` for reserved field names, pending server timestamps, arrays and
    ///   vectors in arrays, vectors that are none of Firestore's, transforms of a field and of one
    ///   inside it, and operands that are not numbers.
    func checkAcceptable() throws(LarderError) {
        switch operation {
        case .set(let record): try record.checkAcceptable()
        case .patch(let record, let mask):
            try record.checkAcceptable()
            for path in mask.paths { try path.checkNotReserved() }
        case .delete, .verify:
            guard transforms.isEmpty else {
                throw .invalidArgument("a delete or verify of '\(path)' has transforms")
            }
        }
        try checkTransformedFields()
        for transform in transforms {
            try transform.path.checkNotReserved()
            switch transform.operation {
            case .serverTimestamp: break
            case .arrayUnion(let elements), .arrayRemove(let elements):
                try RecordBuilder().encode(["elements": .array(elements)]).checkAcceptable()
            case .increment(let operand), .minimum(let operand), .maximum(let operand):
                guard operand.type == .integer || operand.type == .double else {
                    throw .invalidArgument(
                        "the operand of the transform of '\(transform.path)' is not a number")
                }
            }
        }
    }

    /// Refuses transforms of a field and of one inside it, with Firestore's message.
    ///
    /// - Throws: `invalidArgument`.
    private func checkTransformedFields() throws(LarderError) {
        guard transforms.count > 1 else { return }
        // In their order a field is directly followed by those inside it.
        let paths = transforms.map(\.path).sorted()
        for (outer, inner) in zip(paths, paths.dropFirst())
        where outer != inner && outer.isPrefix(of: inner) {
            throw .invalidArgument(
                "Cannot transform property \(outer) and its nested property at the same time.")
        }
    }

    /// The approximate size of the mutation in a request.
    var sizeBytes: Int64 {
        switch operation {
        case .set(let record), .patch(let record, _): record.sizeBytes
        case .delete, .verify: 0
        }
    }
}

extension Record {
    /// Throws `invalidArgument` for data that a document cannot contain.
    fileprivate func checkAcceptable() throws(LarderError) {
        var problem: String?
        try withView { (view) throws(LarderError) in
            try view.forEachField { name, value in
                problem = Self.problem(with: name) ?? Self.problem(in: value, isElement: false)
                return problem == nil ? .continue : .stop
            }
        }
        if let problem { throw .invalidArgument(problem) }
    }

    private static func problem(with name: String) -> String? {
        FieldPath.isReserved(name) ? "the field name '\(name)' is reserved" : nil
    }

    private static func problem(in value: borrowing ValueView, isElement: Bool) -> String? {
        var problem: String?
        switch value.type {
        case .serverTimestamp: return "a pending server timestamp"
        case .vector:
            if isElement { return "Cannot convert a vector value in an array value." }
            return value.withVector { $0.vectorProblem } ?? nil
        case .array:
            if isElement { return "an array directly in an array" }
            value.forEachElement { element in
                problem = Self.problem(in: element, isElement: true)
                return problem == nil ? .continue : .stop
            }
        case .map:
            value.forEachEntry { name, entry in
                problem = Self.problem(with: name) ?? Self.problem(in: entry, isElement: false)
                return problem == nil ? .continue : .stop
            }
        default: break
        }
        return problem
    }
}

extension FieldPath {
    fileprivate func checkNotReserved() throws(LarderError) {
        if let name = segments.first(where: FieldPath.isReserved) {
            throw .invalidArgument("the field name '\(name)' is reserved")
        }
    }
}
