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

    /// The core's transaction, to write through.
    var writer: OpaquePointer { snapshot.reader }
}
