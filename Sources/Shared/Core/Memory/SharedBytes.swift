import Synchronization

/// Memory that is charged to a ledger once, whoever shares it, until the last reference goes.
package final class SharedCharge: Sendable {
    private let ledger: MemoryLedger
    private let bytes: Atomic<Int>

    init(_ bytes: Int, to ledger: MemoryLedger) {
        self.ledger = ledger
        self.bytes = Atomic(bytes)
        ledger.change(by: bytes)
    }

    deinit {
        ledger.change(by: -bytes.load(ordering: .relaxed))
    }

    /// Replaces the size.
    package func change(to new: Int) {
        ledger.change(by: new - bytes.exchange(new, ordering: .relaxed))
    }
}

/// Bytes that several clients receive: encoded, held and charged once.
package final class SharedBytes: Sendable {
    package let bytes: [UInt8]
    private let charge = Mutex<SharedCharge?>(nil)

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package var count: Int { bytes.count }

    /// Charges the bytes to the ledger of an account, unless they are charged.
    package func charge(by account: MemoryAccount?) {
        guard let account else { return }
        charge.withLock { $0 = $0 ?? account.share(bytes.count) }
    }
}

extension SharedBytes: Equatable {
    package static func == (left: SharedBytes, right: SharedBytes) -> Bool {
        left === right || left.bytes == right.bytes
    }
}

/// What was made last of something, for those that need the same soon after.
///
/// It is released when the memory is needed.
package final class LastMade<Key: Sendable, Value: Sendable>: Sendable {
    private let isSame: @Sendable (Key, Key) -> Bool
    private let last = Mutex<(key: Key, value: Value)?>(nil)
    private let account = Mutex<MemoryAccount?>(nil)

    /// - Parameter isSame: true for keys of equal values; may be false for some that are equal.
    package init(_ isSame: @escaping @Sendable (Key, Key) -> Bool) {
        self.isSame = isSame
    }

    /// The value of a key.
    ///
    /// - Parameters:
    ///   - memory: an account of the ledger that the value is charged to.
    ///   - size: the size of a value in bytes.
    ///   - make: makes the value; nil for one that is not kept.
    package func value(
        of key: Key, for memory: MemoryAccount?, size: (Value) -> Int, _ make: () -> Value?
    ) -> Value? {
        if let last = last.withLock({ $0 }), isSame(last.key, key) { return last.value }
        guard let value = make() else { return nil }
        let old = last.withLock { last in
            defer { last = (key, value) }
            return last
        }
        // Released outside of the lock: a charge that ends may relieve accounts.
        withExtendedLifetime(old) {}
        guard let memory else { return value }
        let account = account.withLock { account in
            let open = account ?? memory.openYielding { [weak self] in self?.release() }
            account = open
            return open
        }
        account.changeKept(by: size(value) - (old.map { size($0.value) } ?? 0))
        return value
    }

    private func release() {
        let old = last.withLock { $0.take() }
        account.withLock { $0.take() }?.close()
        withExtendedLifetime(old) {}
    }
}
