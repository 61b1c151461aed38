import CLarder

/// What can be read through a transaction: the same of ``ReadTransaction`` and
/// ``WriteTransaction``.
public protocol ReadableTransaction: ~Copyable {
    /// The commit that the transaction reads, for the methods of this module.
    var snapshot: Snapshot { get }

    /// Whether the transaction can change what it reads, so that nothing read through it is
    /// known of its commit yet.
    var isWritable: Bool { get }
}

/// The commit that a transaction reads, with the writes of the transaction itself.
public struct Snapshot: ~Copyable {
    /// The core's transaction, to read through.
    let reader: OpaquePointer

    /// The number of the commit: it rises by one with each commit that changed something.
    public var commitNumber: UInt64 { larder_txn_commit_number(reader) }
}

extension ReadableTransaction where Self: ~Copyable {
    /// The number of the commit that a read transaction sees, or that a write transaction makes.
    public var commitNumber: UInt64 { snapshot.commitNumber }
}
