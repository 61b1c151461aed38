import CLarder
public import LarderModel

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
            try call { larder_txn_begin_read(environment, &handle, $0) }
            guard let handle else { throw LarderError(status: Int32(LARDER_E_NO_MEMORY)) }
            defer { larder_txn_end_read(handle) }
            return try body(ReadTransaction(snapshot: Snapshot(reader: handle)))
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
        return try unwrap(result, failure)
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
            try call { larder_txn_begin_write(environment, &handle, $0) }
            guard let handle else { throw LarderError(status: Int32(LARDER_E_NO_MEMORY)) }
            var transaction = WriteTransaction(snapshot: Snapshot(reader: handle))
            let result: R
            do throws(LarderError) {
                result = try body(&transaction)
            } catch {
                larder_txn_abort(handle)
                throw error
            }
            try call { larder_txn_commit(handle, $0) }
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
                    throw LarderError(.aborted, "the closure of a write threw")
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
            _ = try call { larder_env_sync(environment, $0) }
        }
    }
}

private func unwrap<R: ~Copyable>(_ result: consuming R?, _ failure: (any Error)?) throws -> R {
    switch consume result {
    case .some(let value): return value
    case nil: throw failure ?? LarderError(.internal, "a read ended without a result")
    }
}
