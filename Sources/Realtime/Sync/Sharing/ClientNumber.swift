import LarderRealtimeModel
package import LarderRuntime

/// The number of a client among those that share a store, from 1.
///
/// It is part of the numbers of the client's writes and tracked queries, so that no two clients
/// give the same one: the lower 20 bits. The upper bits rise with each write that the client makes
/// or receives from another client, so that a write has a larger number than every write that its
/// client knew.
package struct ClientNumber: Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: ClientNumber, right: ClientNumber) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The owner of the writes that were there when the store had no clients.
    static let earlier = ClientNumber(0)

    private static let bits = 20
    /// The largest number.
    static let max = ClientNumber(1 << bits - 1)

    /// The number after this one; the first after the largest.
    var next: ClientNumber {
        self < .max ? ClientNumber(rawValue + 1) : ClientNumber(1)
    }

    /// The next number that the client gives.
    ///
    /// - Parameter last: the largest number that it knows.
    func number(after last: Int64) -> Int64 {
        (last >> Self.bits + 1) << Self.bits | rawValue
    }

    /// The client that gave a number.
    ///
    /// - Parameter base: the largest number that is older than all clients.
    static func owner(of number: Int64, base: Int64) -> ClientNumber {
        number <= base ? .earlier : ClientNumber(number & max.rawValue)
    }

    /// The lock that the client holds while it lives.
    var lock: Int64 { rawValue + 1 }

    /// The lock of the client that keeps the cache.
    static let cacheLock: Int64 = 1
}

/// The sharing of a store with other clients: how they wake each other, and know who lives.
package struct StoreSharing: Sendable {
    package let signal: any StoreSignal
    package let locks: any ClientLocks

    package init(signal: any StoreSignal, locks: any ClientLocks) {
        self.signal = signal
        self.locks = locks
    }
}
