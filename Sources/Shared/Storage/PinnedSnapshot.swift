import CLarder
import Foundation
public import LarderCore
import Synchronization

/// One commit of a store, for any number of reads until it is released.
///
/// Keep it as short as possible: pages freed after its commit cannot be used again while it is
/// open, and the number of readers of a store is limited. Any thread may call; reads run one at a
/// time.
public final class PinnedSnapshot: @unchecked Sendable {
    // The handle is used by the current read, and freed by the last read or by `end`.

    private struct State {
        /// Reads in progress: the current one and those that wait for it.
        var readCount = 0
        var isEnded = false
    }

    private let store: Store
    private let handle: OpaquePointer
    /// Held by the current read.
    private let turn = NSLock()
    private let state = Mutex(State())

    fileprivate init(_ store: Store, _ handle: OpaquePointer) {
        self.store = store
        self.handle = handle
    }

    deinit {
        end()
    }

    /// Runs a closure on the commit.
    ///
    /// - Throws: what the closure throws; `failedPrecondition` with the condition
    ///   `transactionEnded` once it is ended or the store is closed.
    public func read<R: ~Copyable>(
        _ body: (borrowing ReadTransaction) throws(LarderError) -> R
    ) throws(LarderError) -> R {
        try store.withEnvironment { _ throws(LarderError) -> R in
            turn.lock()
            defer { turn.unlock() }
            guard begin() else {
                throw LarderError(
                    .failedPrecondition, "the snapshot is ended", condition: .transactionEnded,
                    domain: store.errorDomain)
            }
            defer { finish() }
            return try body(
                ReadTransaction(snapshot: Snapshot(reader: handle, errorDomain: store.errorDomain)))
        }
    }

    /// Releases the commit: immediately, or at the end of the reads in progress.
    ///
    /// Does not wait. A second call has no effect. The store cannot be closed before.
    public func end() {
        let isFree = state.withLock { state in
            defer { state.isEnded = true }
            return !state.isEnded && state.readCount == 0
        }
        if isFree { larder_txn_end_read(handle) }
    }

    /// True if a read may begin.
    private func begin() -> Bool {
        state.withLock { state in
            guard !state.isEnded else { return false }
            state.readCount += 1
            return true
        }
    }

    /// Ends a read.
    private func finish() {
        let isLast = state.withLock { state in
            state.readCount -= 1
            return state.isEnded && state.readCount == 0
        }
        if isLast { larder_txn_end_read(handle) }
    }
}

extension Store {
    /// Pins the newest commit, for reads until it is released.
    ///
    /// - Throws: `resourceExhausted` with the condition `readersFull` where too many read
    ///   transactions are open; `failedPrecondition` for a closed store.
    public func pinSnapshot() throws(LarderError) -> PinnedSnapshot {
        try withEnvironment { (environment) throws(LarderError) in
            var handle: OpaquePointer?
            try call(errorDomain) { larder_txn_begin_read(environment, &handle, $0) }
            guard let handle else { throw LarderError(status: .noMemory, domain: errorDomain) }
            return PinnedSnapshot(self, handle)
        }
    }
}
