public import Foundation
import LarderModel
import LarderSync
import Logging
import Synchronization

extension Firestore {
    /// Loads a bundle's documents into the cache and its named queries.
    ///
    /// Returns immediately; loading does not block other work. Newer cached versions of documents
    /// win. A bundle with an ID that was loaded before, in this or a newer version, is not loaded
    /// again, which counts as success. Documents that precede an error in a malformed bundle are
    /// kept.
    ///
    /// The documents are not evicted until the database is terminated.
    @discardableResult
    public func loadBundle(_ bundleData: Data) -> LoadBundleTask {
        loadBundle(bundleData, completion: nil)
    }

    /// Loads a bundle and calls a closure on the callback queue when it is done.
    ///
    /// See `loadBundle` of data. The closure receives the final progress or, for a malformed
    /// bundle, `invalidArgument`; for an empty one `unknown`.
    @discardableResult
    public func loadBundle(
        _ bundleData: Data,
        completion: ((LoadBundleTaskProgress?, (any Error)?) -> Void)?
    ) -> LoadBundleTask {
        loadBundle(from: BundleData(bundleData), finishing(completion))
    }

    /// Loads a bundle from a stream, which it opens, reads to the end and closes.
    ///
    /// See `loadBundle` of data. Do not use the stream meanwhile.
    @discardableResult
    public func loadBundle(_ bundleStream: InputStream) -> LoadBundleTask {
        loadBundle(bundleStream, completion: nil)
    }

    /// Loads a bundle from a stream and calls a closure on the callback queue when it is done.
    ///
    /// See `loadBundle` of a stream.
    @discardableResult
    public func loadBundle(
        _ bundleStream: InputStream,
        completion: ((LoadBundleTaskProgress?, (any Error)?) -> Void)?
    ) -> LoadBundleTask {
        loadBundle(from: BundleStream(bundleStream), finishing(completion))
    }

    /// Loads a bundle and waits until it is done.
    ///
    /// - Throws: `invalidArgument` for a malformed bundle or one of another database; `unknown` for
    ///   an empty one; errors of the store.
    @discardableResult
    public nonisolated(nonsending) func loadBundle(
        _ bundleData: Data
    ) async throws -> LoadBundleTaskProgress {
        try await answer { _ = loadBundle(from: BundleData(bundleData), $0) }
    }

    /// Loads a bundle from a stream and waits until it is done.
    ///
    /// - Throws: like `loadBundle` of data; `unavailable` if the stream cannot be read.
    @discardableResult
    public nonisolated(nonsending) func loadBundle(
        _ bundleStream: InputStream
    ) async throws -> LoadBundleTaskProgress {
        try await answer { _ = loadBundle(from: BundleStream(bundleStream), $0) }
    }

    /// Passes a bundle's named query to a closure on the callback queue; nil if there is none.
    public func getQuery(named name: String, completion: @escaping (Query?) -> Void) {
        let completion = Transferred(completion)
        let queue = callbackQueue
        Self.blockingQueue.async { [self] in
            let query = namedQuery(name)
            queue.async { completion.value(query) }
        }
    }

    /// A bundle's named query; nil if there is none.
    public nonisolated(nonsending) func getQuery(named name: String) async -> Query? {
        namedQuery(name)
    }

    private func namedQuery(_ name: String) -> Query? {
        do throws(LarderError) {
            return try connection.client().namedQuery(name).map { Query(self, .success($0.query)) }
        } catch {
            logger.error("getQuery(named:): \(error.message)")
            return nil
        }
    }

    /// The completion of a load that calls a handler on the callback queue, if there is one.
    private func finishing(
        _ handler: ((LoadBundleTaskProgress?, (any Error)?) -> Void)?
    ) -> Completion<LoadBundleTaskProgress> {
        guard let handler else { return { _ in } }
        return callbackQueue.completion(handler)
    }

    private func loadBundle(
        from source: any BundleSource, _ done: @escaping Completion<LoadBundleTaskProgress>
    ) -> LoadBundleTask {
        let task = LoadBundleTask(callbackQueue)
        do throws(LarderError) {
            try connection.client().loadBundle(
                from: source, progress: { task.tell($0) },
                completion: { done($0.map { LoadBundleTaskProgress($0) }) })
        } catch {
            var progress = LoadBundleProgress()
            progress.state = .error
            task.tell(progress)
            done(.failure(error))
        }
        return task
    }
}

/// A bundle in memory.
final class BundleData: BundleSource {
    private static let partBytes = 1 << 18

    private let rest: Mutex<Data>

    init(_ data: Data) {
        rest = Mutex(data)
    }

    func read(_ completion: @escaping @Sendable (Result<[UInt8], LarderError>) -> Void) {
        let part = rest.withLock { rest in
            let part = rest.prefix(Self.partBytes)
            rest = rest.dropFirst(Self.partBytes)
            return [UInt8](part)
        }
        completion(.success(part))
    }
}

/// A bundle read from a stream, on a thread that may block.
final class BundleStream: BundleSource {
    private static let partBytes = 1 << 16

    // One read follows the other.
    private let stream: Transferred<InputStream>

    init(_ stream: InputStream) {
        self.stream = Transferred(stream)
    }

    func read(_ completion: @escaping @Sendable (Result<[UInt8], LarderError>) -> Void) {
        Firestore.blockingQueue.async { [self] in
            completion(Result { () throws(LarderError) in try part() })
        }
    }

    private func part() throws(LarderError) -> [UInt8] {
        let stream = stream.value
        if stream.streamStatus == .notOpen { stream.open() }
        var bytes = [UInt8](repeating: 0, count: Self.partBytes)
        let count = stream.read(&bytes, maxLength: bytes.count)
        guard count >= 0 else {
            throw LarderError(
                .unavailable, "The bundle cannot be read.", cause: stream.streamError)
        }
        if count == 0 { stream.close() }
        return Array(bytes.prefix(count))
    }
}
