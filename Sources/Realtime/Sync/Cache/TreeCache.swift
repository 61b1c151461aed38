package import LarderRealtimeModel
package import LarderRealtimeStore

/// The cached part of a tree, as a sync tree reads and changes it.
///
/// Changes are recorded and stored later, all those of a turn in one transaction; reads see them
/// from the moment they are recorded.
package protocol TreeCache {
    /// The cached content of a location, without regard to what of it is complete.
    func node(at path: TreePath) throws(LarderError) -> Node

    /// A query's part of the cached content of its location; the location's priority is no
    /// part of it.
    ///
    /// Only the window is held in memory.
    func window(of query: QuerySpec) throws(LarderError) -> Node

    /// Some children of a location, as far as they are cached.
    func children(_ keys: Set<ChildKey>, at path: TreePath) throws(LarderError) -> Node

    /// The union of the keys of some tracked queries.
    func trackedKeys(of queries: [TrackedQueryID]) throws(LarderError) -> Set<ChildKey>

    /// Adds a change to those of the turn.
    mutating func record(_ change: CacheChange)
}

/// A change of a cache.
package enum CacheChange: Equatable, Sendable {
    /// The server's content of a location was replaced.
    case overwrite(TreePath, Node)
    /// The server's content of several places below a location was replaced.
    case merge(TreePath, [PathValue])
    /// A tracked query is new or has changed.
    case saveQuery(TrackedQuery)
    /// A tracked query is used from now on, or no longer. It need not be stored before listeners
    /// see what the turn has led to.
    case noteUse(TrackedQuery)
    /// A tracked query is evicted by a rule.
    case removeQuery(TrackedQueryID)
    /// The children that a filtered query selects.
    case setKeys(TrackedQueryID, Set<ChildKey>)
    /// Children that a filtered query now selects, and others that it no longer does.
    case updateKeys(TrackedQueryID, added: Set<ChildKey>, removed: Set<ChildKey>)
    /// A client that does not keep the cache asks for a query's data, or no longer does; the client
    /// that keeps the cache asks for it, too.
    case beginListen(Int64, QuerySpec)
    case endListen(Int64)
    /// The result of a write that the server has accepted is passed to the client that keeps the
    /// cache.
    case passAccepted(AcceptedWrite)
    /// The result of another client's write is in the cache.
    case removeAccepted(WriteID)
    /// A write was applied, with its server values unresolved.
    case saveWrite(PendingWrite)
    /// A write was acknowledged, refused or cancelled.
    case removeWrite(WriteID)
    /// All writes were cancelled.
    case removeAllWrites
}
