package import LarderModel

/// Converts between messages of `google.firestore.v1` about one database and Larder's types.
///
/// `encode` creates a message, `decode` reads one. Document fields are converted directly between
/// messages and records. Input is limited, and malformed input always ends in an error:
///
/// - in a request `invalidArgument`, or `unimplemented` for features of Firestore that Larder
///   lacks;
/// - in a response `internal`, which a client attributes to the backend and never mistakes for a
///   refusal of its request.
///
/// Not thread-safe, because buffers are reused: use one coder for each stream or call.
package final class MessageCoder {
    /// The limits of decoded messages.
    package struct Limits: Sendable {
        /// The maximum nesting depth of maps and arrays.
        package var maxDepth = 20
        /// The maximum size of a document's fields, as Firestore counts it.
        package var maxDocumentBytes: Int64 = 1_048_576
        /// The maximum number of filters and orders of a query.
        package var maxQueryParts = 100
        /// The maximum number of disjunctions of a query, and of values of one `in`.
        package var maxDisjunctions = 30
        /// The maximum number of values of one `not-in`.
        package var maxExclusions = 10
        /// The maximum number of aggregations in a request.
        package var maxAggregates = 5
        /// The maximum size of a resume or stream token in bytes.
        package var maxTokenBytes = 65_536

        /// Firestore's published limits.
        package init() {}

        /// The limits of responses: documents of any edition of Firestore, whose largest have 16 MiB.
        ///
        /// The size of a document is checked against the store's limit when it is stored.
        package static let responses: Limits = {
            var limits = Limits()
            limits.maxDocumentBytes = 16 << 20
            return limits
        }()
    }

    let names: DatabaseNames
    package let limits: Limits

    /// Created on first use, because many coders only encode.
    private var knownBuilder: RecordBuilder?

    package convenience init(_ database: DatabaseID, limits: Limits = Limits()) {
        self.init(DatabaseNames(database), limits: limits)
    }

    package init(_ names: DatabaseNames, limits: Limits = Limits()) {
        self.names = names
        self.limits = limits
    }

    package var database: DatabaseID { names.id }

    var documentsPrefix: String { names.documentsPrefix }

    /// - Throws: `resourceExhausted` if out of memory.
    var builder: RecordBuilder {
        get throws(LarderError) {
            if let knownBuilder { return knownBuilder }
            let builder = try RecordBuilder()
            knownBuilder = builder
            return builder
        }
    }

    /// Decodes a response: errors that would blame the client in a request become `internal`.
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
    package let id: DatabaseID
    /// The prefix of all document names: `projects/P/databases/D/documents/`.
    let documentsPrefix: String

    package init(_ id: DatabaseID) {
        self.id = id
        documentsPrefix = "\(id)/documents/"
    }

    /// Whether a name is that of the database, its documents, or a resource below: the names that
    /// ``LarderModel/DatabaseID/init(ofResource:)`` accepts for it.
    package func include(_ name: String) -> Bool {
        let missing = documentsPrefix.utf8.count - name.utf8.count
        return missing <= 0
            ? name.hasUTF8Prefix(documentsPrefix)
            : (missing == 1 || missing == Self.suffixCount) && documentsPrefix.hasUTF8Prefix(name)
    }

    func isDatabase(_ name: String) -> Bool {
        name.utf8.count + Self.suffixCount == documentsPrefix.utf8.count
            && documentsPrefix.hasUTF8Prefix(name)
    }

    private static let suffixCount = "/documents/".utf8.count
}
