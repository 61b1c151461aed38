import Dispatch
import LarderModel
import LarderQuery
import LarderRemote
import LarderRuntime
import LarderSync

/// The part of a query's results that is read.
struct ResultPart: Hashable, Sendable {
    /// The number of documents to skip before the limit applies.
    var offset = 0
    /// The fields to read; nil for all.
    var mask: FieldMask?

    var isWhole: Bool { offset == 0 && mask == nil }

    static let isRefused = LarderError.invalidArgument(
        "A query with an offset or selected fields can only be read: use getDocuments. Listeners, "
            + "aggregations and the cache need all of its results.")
}

extension Query {
    /// Reads only some fields of the results, given as `String` or ``FieldPath``; without fields,
    /// only the documents' names.
    ///
    /// ``getDocuments(source:)`` then sends the query to the server, which returns the selected
    /// fields alone. The results are the server's, without pending writes, and are not cached;
    /// those of the cache, on request or if the server cannot be reached, include pending writes. A
    /// listener, an aggregation or ``pin()`` on the query fails with `invalidArgument`, as does
    /// every operation if a field path is invalid.
    ///
    /// ```swift
    /// let names = try await db.collection("cities").select(["name"]).getDocuments()
    /// ```
    public func select(_ fields: [Any]) -> Query {
        do throws(LarderError) {
            var part = part
            part.mask = FieldMask(
                try fields.map { (field) throws(LarderError) in try FieldPath.resolving(field) })
            return Query(firestore, content, part: part)
        } catch {
            return adding { (_, _) throws(LarderError) in throw error }
        }
    }

    /// Skips the first documents of the results, at the end that the limit counts from; the limit
    /// applies to those after them.
    ///
    /// The server reads, and Cloud Firestore bills, skipped documents: cursors such as
    /// ``start(afterDocument:)`` do not. The query is read as described for ``select(_:)``. A
    /// negative offset is `invalidArgument`.
    public func offset(_ offset: Int) -> Query {
        guard offset >= 0 else {
            return adding { (_, _) throws(LarderError) in
                throw .invalidArgument("the offset is \(offset); it must be at least 0")
            }
        }
        var part = part
        part.offset = offset
        return Query(firestore, content, part: part)
    }
}

// MARK: - Reading

extension Query {
    /// Reads a part of the results from the server, or from the cache if the source allows it.
    func getSelected(_ source: FirestoreSource, _ done: @escaping Completion<QuerySnapshot>) {
        firestore.withClient(done) { client, done in
            do throws(LarderError) {
                client.runAtServer(try selection.get()) { [self] result in
                    switch result {
                    case .success(let selected): done(.success(QuerySnapshot(self, selected)))
                    case .failure(let error) where source == .default && error.isOffline:
                        // Not on the connection's thread: the cache may block for the disk.
                        Firestore.blockingQueue.async {
                            done(
                                Result { () throws(LarderError) in try self.cached(client) })
                        }
                    case .failure(let error): done(.failure(error))
                    }
                }
            } catch {
                done(.failure(error))
            }
        }
    }

    /// Reads the results, or the selected part of them, from the cache.
    func cached(_ client: Client) throws(LarderError) -> QuerySnapshot {
        let selection = try selection.get()
        let (documents, readTime) = try client.results(of: selection.queryWithOffset)
        return QuerySnapshot(
            self, cached: selection.isWhole ? documents : try selection.selected(from: documents),
            isFromCache: !client.isLocal, readTime: readTime)
    }
}

extension LarderError {
    fileprivate var isOffline: Bool { kind == .unavailable || kind == .deadlineExceeded }
}
