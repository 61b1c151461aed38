import LarderModel
import LarderRemote

/// A commit that somebody asks for.
struct CommitRequest {
    /// What is to be done, together or not at all.
    let mutations: [Mutation]
    /// Asks the rules; nil for what the backend does itself.
    let rulesCheck: RulesCheck?
    /// What must be as it was read; nil for a commit that rests on nothing.
    var reads: ReadSet?
    /// The stream that the commit came through, if any: once it has ended its commits are not
    /// made.
    var stream: WriteSession?
    /// Told what came of it.
    let completion: (Result<CommitResult, LarderError>) -> Void

    /// Whether the commit rests on what queries have found.
    var hasReadQueries: Bool { reads?.hasQueries ?? false }

    /// How large a request may be, in bytes.
    static let maxBytes: Int64 = 10 << 20

    /// Throws `invalidArgument` unless a backend takes the request, whatever its documents are.
    func checkAcceptable() throws(LarderError) {
        var size: Int64 = 0
        var writes: [DocumentPath: DocumentWrites] = [:]
        for mutation in mutations {
            try mutation.checkAcceptable()
            // A single mutation has none before it.
            if mutations.count > 1 { try writes[mutation.path].add(mutation) }
            size += mutation.sizeBytes
        }
        guard size <= Self.maxBytes else {
            throw .invalidArgument(
                "a commit of \(size) bytes; \(Self.maxBytes) are allowed")
        }
    }
}

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

// MARK: - Acceptance

extension Mutation {
    /// Throws unless a backend takes the mutation, whatever the document is.
    ///
    /// - Throws: `invalidArgument` for reserved field names, for pending server timestamps,
    ///   for arrays in arrays and for transforms by what is no number.
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
        for transform in transforms {
            try transform.path.checkNotReserved()
            switch transform.operation {
            case .serverTimestamp: break
            case .arrayUnion(let elements), .arrayRemove(let elements):
                try RecordBuilder().encode(["elements": .array(elements)]).checkAcceptable()
            case .increment(let operand), .minimum(let operand), .maximum(let operand):
                guard operand.type == .integer || operand.type == .double else {
                    throw .invalidArgument(
                        "the transform of '\(transform.path)' has an operand that is no number")
                }
            }
        }
    }

    /// About how many bytes the mutation takes in a request.
    var sizeBytes: Int64 {
        switch operation {
        case .set(let record), .patch(let record, _): record.sizeBytes
        case .delete, .verify: 0
        }
    }
}

extension Record {
    /// Throws `invalidArgument` for what no document of a backend has.
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
        name.isReserved ? "the field name '\(name)' is reserved" : nil
    }

    private static func problem(in value: borrowing ValueView, isElement: Bool) -> String? {
        var problem: String?
        switch value.type {
        case .serverTimestamp: return "a server timestamp that is pending"
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
        if let name = segments.first(where: \.isReserved) {
            throw .invalidArgument("the field name '\(name)' is reserved")
        }
    }
}

extension String {
    /// Whether the text begins and ends with two underscores.
    fileprivate var isReserved: Bool {
        utf8.count >= 4 && utf8.starts(with: "__".utf8) && utf8.reversed().starts(with: "__".utf8)
    }
}
