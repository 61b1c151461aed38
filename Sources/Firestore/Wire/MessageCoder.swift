package import LarderModel

/// Turns messages of `google.firestore.v1` about one database into what Larder works with, and
/// back.
///
/// Two verbs: `encode` makes a message, `decode` reads one. Fields of documents go straight between
/// messages and records. What a peer may send is bounded; decoding ends with a message, a value or
/// an error, whatever the bytes were:
///
/// - a breach in a request is `invalidArgument`, or `unimplemented` for what Firestore has and
///   Larder does not;
/// - a breach in an answer is `internal`, so that a client takes it for a fault of the backend and
///   never for a refusal of what it asked for.
///
/// Work space is used again from call to call: use a coder on one thread at a time, one for each
/// stream or call.
package final class MessageCoder {
    /// What a peer may send.
    package struct Limits: Sendable {
        /// How deep maps and arrays may be nested.
        package var maxDepth = 20
        /// What the fields of one document may count towards the document size limit.
        package var maxDocumentBytes: Int64 = 1_048_576
        /// Conditions and orders of one query.
        package var maxQueryParts = 100
        /// Alternatives that a query's filters come down to, and values of one `in`.
        package var maxDisjunctions = 30
        /// Values of one `not-in`.
        package var maxExclusions = 10
        /// Figures of one aggregation.
        package var maxAggregates = 5
        /// Bytes of a resume token or stream token.
        package var maxTokenBytes = 65_536

        /// Firestore's published limits.
        package init() {}
    }

    /// The names of the database that all are of.
    let names: DatabaseNames
    /// What a peer may send.
    package let limits: Limits

    /// What makes records, from the first that is decoded on: many coders only encode.
    private var knownBuilder: RecordBuilder?

    /// A coder for a database.
    package convenience init(_ database: DatabaseID, limits: Limits = Limits()) {
        self.init(DatabaseNames(database), limits: limits)
    }

    /// A coder for a database whose names are known.
    package init(_ names: DatabaseNames, limits: Limits = Limits()) {
        self.names = names
        self.limits = limits
    }

    /// The database that all names are of.
    package var database: DatabaseID { names.id }

    /// What the names of all documents begin with.
    var documentsPrefix: String { names.documentsPrefix }

    /// What makes records.
    ///
    /// - Throws: `resourceExhausted` when there is no memory.
    var builder: RecordBuilder {
        get throws(LarderError) {
            if let knownBuilder { return knownBuilder }
            let builder = try RecordBuilder()
            knownBuilder = builder
            return builder
        }
    }

    /// Decodes an answer: what would be the client's fault in a request is the backend's here.
    ///
    /// - Throws: what the closure throws, as `internal` where it would blame the client.
    package func answer<R>(_ decode: () throws(LarderError) -> R) throws(LarderError) -> R {
        do throws(LarderError) {
            return try decode()
        } catch {
            guard error.kind == .invalidArgument || error.kind == .unimplemented else {
                throw error
            }
            throw LarderError(
                .internal, "the backend's response is malformed: \(error.message)", cause: error)
        }
    }
}

// MARK: - Database names

/// The resource names of a database.
package struct DatabaseNames: Sendable {
    /// The database.
    package let id: DatabaseID
    /// The prefix of all document names: `projects/P/databases/D/documents/`.
    let documentsPrefix: String

    /// The names of a database.
    package init(_ id: DatabaseID) {
        self.id = id
        documentsPrefix = "\(id)/documents/"
    }

    /// Whether a name is that of the database, of its documents, or of a resource below these: what
    /// ``LarderModel/DatabaseID/init(ofResource:)`` takes for a name of it.
    package func include(_ name: String) -> Bool {
        let missing = documentsPrefix.utf8.count - name.utf8.count
        return missing <= 0
            ? name.hasUTF8Prefix(documentsPrefix)
            : (missing == 1 || missing == Self.suffixCount) && documentsPrefix.hasUTF8Prefix(name)
    }

    /// Whether a name is that of the database.
    func isDatabase(_ name: String) -> Bool {
        name.utf8.count + Self.suffixCount == documentsPrefix.utf8.count
            && documentsPrefix.hasUTF8Prefix(name)
    }

    private static let suffixCount = "/documents/".utf8.count
}
