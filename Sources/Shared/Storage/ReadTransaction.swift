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
