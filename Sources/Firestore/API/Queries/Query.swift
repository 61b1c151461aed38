import LarderModel
import LarderQuery

/// A question about the documents of a collection or a collection group: which match, in what
/// order, how many.
///
/// Immutable: every method that narrows it gives a new query. What Apple's SDK stops the program
/// over (conflicting filters, a limit of 0, an order behind a cursor) the new query keeps as an
/// error; whatever is asked of it, or of a query made from it, reports that first error as
/// `invalidArgument`.
public class Query: @unchecked Sendable {
    // Immutable; not final only because CollectionReference is a query, as in Apple's SDK.

    /// The database that is asked.
    public let firestore: Firestore

    /// The query as data, or what was wrong in the making of it.
    let content: Result<LarderQuery.Query, LarderError>

    init(_ firestore: Firestore, _ content: Result<LarderQuery.Query, LarderError>) {
        self.firestore = firestore
        self.content = content
    }

    /// The query as data, when it can be asked.
    var executable: Result<LarderQuery.Query, LarderError> {
        content.flatMap { query in
            Result { () throws(LarderError) in
                try query.validateForExecution()
                return query
            }
        }
    }

    /// Where it looks.
    var place: Result<LarderQuery.Query.Source, LarderError> { content.map { $0.source } }

    /// A query with something added to this one.
    func adding(
        _ change: (LarderQuery.Query, DatabaseID) throws(LarderError) -> LarderQuery.Query
    ) -> Query {
        Query(
            firestore,
            content.flatMap { query in
                Result { () throws(LarderError) in try change(query, firestore.databaseID) }
            })
    }
}

extension Query: Hashable {
    /// Whether both ask the same of the same database object.
    public static func == (left: Query, right: Query) -> Bool {
        guard left.firestore === right.firestore else { return false }
        return switch (left.content, right.content) {
        case (.success(let left), .success(let right)): left == right
        case (.failure(let left), .failure(let right)): left == right
        default: false
        }
    }

    /// Hashes the question.
    public func hash(into hasher: inout Hasher) {
        if case .success(let query) = content { hasher.combine(query) }
    }
}
