public import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync
public import LarderRuntime
import Logging

extension Database {
    /// A write that the server has not acknowledged.
    public struct PendingWrite: Sendable, Identifiable {
        /// The kind of a write.
        public enum Kind: Hashable, Sendable {
            /// Replaces the data of a location.
            case set
            /// Replaces the data of several locations below one.
            case update
            /// The output of a transaction.
            case transaction
        }

        /// The ID for ``Database/cancelPendingWrite(_:)``; later writes have larger IDs.
        public let id: Int64

        /// The kind of the write.
        public let kind: Kind

        /// The locations that the write replaces, with their new data.
        public let changes: [WriteChange]

        /// The time of the write by the local clock.
        public let writeTime: Timestamp

        /// True if the write was sent on the present connection and is not answered.
        public let isSent: Bool

        init(_ write: QueuedWrite, of database: Database) {
            id = write.id.rawValue
            kind =
                switch write.request {
                case _ where write.isTransaction: .transaction
                case .overwrite: .set
                case .merge: .update
                }
            changes = WriteChange.changes(of: write.request, in: database)
            writeTime = write.time
            isSent = write.isSent
        }
    }

    /// A change of one location as requested by a write.
    public struct WriteChange: Sendable {
        /// The location; `.priority` is its last component if only the priority is written.
        public let ref: DatabaseReference
        private let node: Node

        /// The new data in the export format, with ``ServerValue``s as they are sent; `NSNull` for
        /// a deletion.
        ///
        /// Computed on each access.
        public var value: Any { node.exportedJSON.foundationValue }

        static func changes(of request: WriteRequest, in database: Database) -> [WriteChange] {
            request.values.map { value in
                WriteChange(
                    ref: DatabaseReference(database, .success(value.path)), node: value.node)
            }
        }
    }

    /// The writes that the server has not acknowledged, oldest first, including those of earlier
    /// runs of the program.
    ///
    /// - Throws: `failedPrecondition` for a closed database.
    public nonisolated(nonsending) func pendingWrites() async throws(DatabaseError)
        -> [PendingWrite]
    {
        let writes = try await ask { $0.pendingWrites(completion: $1) }
        return writes.map { PendingWrite($0, of: self) }
    }

    /// The writes that the server has not acknowledged, now and after each change.
    ///
    /// Only the newest list is buffered: a slow consumer skips lists, but never the last one.
    public var pendingWriteUpdates: SnapshotSequence<[PendingWrite]> {
        list(DatabaseClient.observePendingWrites) { PendingWrite($0, of: $1) }
    }

    /// Cancels a pending write and reverts its effect, unless it has been sent and not yet
    /// answered.
    ///
    /// Anything awaiting its acknowledgement receives `writeCanceled`. If the response to an
    /// earlier attempt was lost, the server may have applied the write nevertheless.
    ///
    /// - Returns: true if it was cancelled; false if it is no longer pending, or was sent and has
    ///   not been answered.
    /// - Throws: `failedPrecondition` for a closed database.
    @discardableResult
    public nonisolated(nonsending) func cancelPendingWrite(
        _ id: Int64
    ) async throws(DatabaseError) -> Bool {
        try await ask { $0.cancelWrite(WriteID(id), completion: $1) }
    }

    /// Cancels all pending writes, transactions and operations for the end of the connection, and
    /// reverts their effects.
    ///
    /// Their completion blocks receive `writeCanceled`, in the order in which they were made.
    /// Writes that were sent may still take effect at the server.
    public func purgeOutstandingWrites() {
        do throws(LarderError) {
            try connection.client().purgeOutstandingWrites()
        } catch {
            logger.error("purgeOutstandingWrites failed: \(error.message)")
        }
    }

    /// A sequence of the lists that the client delivers.
    func list<Element: Sendable, Item: Sendable>(
        _ observe:
            @escaping @Sendable (DatabaseClient) -> (
                @escaping @Sendable ([Element]) -> Void
            ) -> @Sendable () -> Void,
        _ make: @escaping @Sendable (Element, Database) -> Item
    ) -> SnapshotSequence<[Item]> {
        SnapshotSequence(
            .bufferingNewest(1),
            listen: { [self] deliver in
                do throws(LarderError) {
                    return observe(try connection.client())({ list in
                        deliver(.success(list.map { make($0, self) }))
                    })
                } catch {
                    deliver(.failure(DatabaseError(error)))
                    return {}
                }
            })
    }
}

extension Database.PendingWrite: CustomStringConvertible {
    private static let listedCount = 3

    /// The ID, the time, the kind and the first locations, on one line.
    public var description: String {
        var places = changes.prefix(Self.listedCount).map { $0.ref.pathText }
            .joined(separator: ", ")
        if changes.count > Self.listedCount {
            places += " and \(changes.count - Self.listedCount) more"
        }
        return "pending write \(id) of \(writeTime): \(kind) \(places)" + (isSent ? "; sent" : "")
    }
}

extension DatabaseReference {
    /// The path with a leading slash; references of writes are valid.
    fileprivate var pathText: String { (try? path.get())?.description ?? url }
}
