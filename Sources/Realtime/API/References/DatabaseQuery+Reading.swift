public import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync
import LarderRuntime
import Logging

extension DatabaseQuery {
    /// Reads the data once, preferably from the server.
    ///
    /// An observer or `keepSynced` that keeps the data up to date answers at once. Otherwise the
    /// server is asked; if it does not answer within ``DatabaseConfiguration/serverWait-swift.property``
    /// or refuses, the cached data is returned, ``DataSnapshot/metadata`` telling so.
    ///
    /// - Parameter block: called on the callback queue with an error, or with the data.
    public func getData(completion block: @escaping ((any Error)?, DataSnapshot?) -> Void) {
        let block = Transferred(block)
        let callbacks = owner.callbacks
        get { [self] result in
            callbacks.add { [self] in
                switch result {
                case .success(let answer): block.value(nil, snapshot(of: answer))
                case .failure(let error): block.value(DatabaseError(error), nil)
                }
            }
        }
    }

    /// Reads the data once, preferably from the server.
    ///
    /// See ``getData(completion:)``.
    ///
    /// - Throws: a ``DatabaseError``: that of the server if nothing is cached, `unavailable` if it
    ///   cannot be reached and nothing is cached.
    public nonisolated(nonsending) func getData() async throws -> DataSnapshot {
        let done = OneShot<GetAnswer>(errorDomain: LarderError.realtimeDomain)
        get { done.finish($0) }
        do throws(LarderError) {
            return snapshot(of: try await done.value())
        } catch {
            throw DatabaseError(error)
        }
    }

    /// Keeps the data of the location or the query in the cache, up to date while there is a
    /// connection, and safe from eviction, without an observer.
    ///
    /// Turning it on twice has no other effect than once. It ends with the program: turn it on
    /// again after a restart.
    public func keepSynced(_ on: Bool) {
        do throws(LarderError) {
            let spec = try spec.get()
            guard !InfoTree.contains(spec.path) else {
                throw .invalidArgument("\(spec.path) cannot be kept in sync")
            }
            try owner.connection.client().keepSynced(spec, on)
        } catch {
            owner.logger.error("keepSynced failed: \(error.message)")
        }
    }

    /// How far the data of a query is known locally, and since when.
    public struct Freshness: Hashable, Sendable {
        /// True if all of the data is known.
        public let isComplete: Bool
        /// True if the server keeps the data up to date at this moment.
        public let isCurrent: Bool
        /// The latest time, by the local clock, at which the server is known to have confirmed the
        /// data; nil if it is not known.
        ///
        /// Kept over restarts with a store on disk.
        public let confirmedAt: Timestamp?
    }

    /// How far the data of the location or the query is known locally, and since when; makes no
    /// request.
    ///
    /// - Throws: `invalidArgument` for an invalid query; `failedPrecondition` for a closed
    ///   database.
    public nonisolated(nonsending) func freshness() async throws(DatabaseError) -> Freshness {
        let spec: QuerySpec
        do throws(LarderError) {
            spec = try self.spec.get()
        } catch {
            throw DatabaseError(error)
        }
        let freshness = try await owner.ask { $0.freshness(of: spec, completion: $1) }
        return Freshness(
            isComplete: freshness.isComplete, isCurrent: freshness.isCurrent,
            confirmedAt: freshness.confirmed.map { Timestamp(milliseconds: $0) })
    }

    private func get(_ done: @escaping Completion<GetAnswer>) {
        do throws(LarderError) {
            let spec = try spec.get()
            owner.withClient(done) { $0.get(spec, completion: $1) }
        } catch {
            done(.failure(error))
        }
    }

    private func snapshot(of answer: GetAnswer) -> DataSnapshot {
        DataSnapshot(
            ref, answer.node, by: answer.query.parameters.index,
            DataSnapshot.Metadata(answer.metadata))
    }
}
