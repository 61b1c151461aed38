import CLarder
public import LarderCore

extension Store {
    /// Runs a closure on the newest commit, which stays as it is while the closure runs.
    ///
    /// Never waits for a writer. In a function with typed throws, write
    /// `{ transaction throws(LarderError) in … }`.
    ///
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws; `resourceExhausted` with the condition `readersFull`
    ///   where too many read transactions are open; `failedPrecondition` for a closed store.
    public func read<R: ~Copyable>(
        _ body: (borrowing ReadTransaction) throws(LarderError) -> R
    ) throws(LarderError) -> R {
        try withEnvironment { (environment) throws(LarderError) -> R in
            var handle: OpaquePointer?
            try call(errorDomain) { larder_txn_begin_read(environment, &handle, $0) }
            guard let handle else { throw LarderError(status: .noMemory, domain: errorDomain) }
            defer { larder_txn_end_read(handle) }
            return try body(
                ReadTransaction(snapshot: Snapshot(reader: handle, errorDomain: errorDomain)))
        }
    }

    /// Runs a closure that may throw any error on the newest commit.
    ///
    /// As the other form of `read` in everything else.
    @_disfavoredOverload
    public func read<R: ~Copyable>(
        _ body: (borrowing ReadTransaction) throws -> R
    ) throws -> R {
        var failure: (any Error)?
        let result: R? = try read { (transaction) throws(LarderError) -> R? in
            do {
                return try body(transaction)
            } catch {
                failure = error
                return nil
            }
        }
        return try unwrap(result, failure, errorDomain)
    }

    /// Runs a closure that makes changes, and commits them when it returns.
    ///
    /// Waits until no other write transaction is open, in this process or another, and for the
    /// disk as ``StoreConfiguration/durability`` says. When the closure throws, nothing is
    /// changed. Over budget, the commit evicts least recently used documents. A closure must not
    /// begin another write of the same store.
    ///
    /// In a function with typed throws, write `{ transaction throws(LarderError) in … }`.
    ///
    /// - Returns: what the closure returns, once the commit is made.
    /// - Throws: what the closure throws; `failedPrecondition` with the condition `readOnly`,
    ///   `busy` (from inside another write) or for a closed store; `unavailable` or
    ///   `resourceExhausted` when the disk fails, after which nothing was changed.
    @discardableResult
    public func write<R: ~Copyable>(
        _ body: (inout WriteTransaction) throws(LarderError) -> R
    ) throws(LarderError) -> R {
        try withEnvironment { (environment) throws(LarderError) -> R in
            var handle: OpaquePointer?
            try call(errorDomain) { larder_txn_begin_write(environment, &handle, $0) }
            guard let handle else { throw LarderError(status: .noMemory, domain: errorDomain) }
            var transaction = WriteTransaction(
                snapshot: Snapshot(reader: handle, errorDomain: errorDomain))
            let result: R
            do throws(LarderError) {
                result = try body(&transaction)
            } catch {
                larder_txn_abort(handle)
                throw error
            }
            try call(errorDomain) { larder_txn_commit(handle, $0) }
            return result
        }
    }

    /// Runs a closure that makes changes and may throw any error.
    ///
    /// As the other form of `write` in everything else.
    @_disfavoredOverload
    @discardableResult
    public func write<R: ~Copyable>(
        _ body: (inout WriteTransaction) throws -> R
    ) throws -> R {
        var failure: (any Error)?
        do {
            return try write { (transaction) throws(LarderError) -> R in
                do {
                    return try body(&transaction)
                } catch {
                    failure = error
                    throw LarderError(
                        .aborted, "the closure of a write threw", domain: errorDomain)
                }
            }
        } catch {
            throw failure ?? error
        }
    }

    /// Makes every commit so far durable, whatever ``StoreConfiguration/durability`` says.
    ///
    /// Blocks for the disk.
    public func sync() throws(LarderError) {
        try withEnvironment { (environment) throws(LarderError) in
            _ = try call(errorDomain) { larder_env_sync(environment, $0) }
        }
    }
}

private func unwrap<R: ~Copyable>(
    _ result: consuming R?, _ failure: (any Error)?, _ domain: String
) throws -> R {
    switch consume result {
    case .some(let value): return value
    case nil:
        throw failure ?? LarderError(.internal, "a read ended without a result", domain: domain)
    }
}

// MARK: - Transactions

/// One commit of a store, to read from inside the closure of `Store.read`.
///
/// It does not change while others write, and cannot be copied or kept. Keep it short: pages
/// freed after its commit cannot be used again while it is open.
///
/// A closure inside the scope may use it; to a function pass it as a parameter, since a nested
/// `func` cannot capture it.
public struct ReadTransaction: ~Copyable, ReadableTransaction {
    /// The commit that the transaction reads.
    public let snapshot: Snapshot

    /// Always false: a commit does not change.
    public var isWritable: Bool { false }
}

/// Changes that become one commit when the closure of `Store.write` returns, and none when
/// it throws.
///
/// It reads what it has written. It cannot be copied or kept.
///
/// A closure inside the scope may use it; to a function pass it as a parameter, since a nested
/// `func` cannot capture it.
public struct WriteTransaction: ~Copyable, ReadableTransaction {
    /// The newest commit, with the changes so far.
    public let snapshot: Snapshot

    /// Always true.
    public var isWritable: Bool { true }

    /// The core's `larder_txn`, to write through: for the modules that add a database's tables.
    package var writer: OpaquePointer { snapshot.reader }
}

/// The read operations of ``ReadTransaction`` and ``WriteTransaction``.
public protocol ReadableTransaction: ~Copyable {
    /// The commit that the transaction reads.
    var snapshot: Snapshot { get }

    /// True if the transaction can change what it reads, so that its reads may differ from any
    /// commit.
    var isWritable: Bool { get }
}

/// The commit that a transaction reads, with the writes of the transaction itself.
public struct Snapshot: ~Copyable {
    /// The core's `larder_txn`, to read through: for the modules that add a database's tables.
    package let reader: OpaquePointer

    /// The domain of the store's errors.
    let errorDomain: String

    /// The number of the commit: it rises by one with each commit that changed something.
    public var commitNumber: UInt64 { larder_txn_commit_number(reader) }
}

extension ReadableTransaction where Self: ~Copyable {
    /// The number of the commit that a read transaction sees, or that a write transaction makes.
    public var commitNumber: UInt64 { snapshot.commitNumber }
}
