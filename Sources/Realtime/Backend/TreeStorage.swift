package import LarderRealtimeModel

/// Where the trees of a backend are stored.
package protocol TreeStorage: Sendable {
    /// Reads all trees, by namespace.
    func trees() throws(LarderError) -> [String: Node]

    /// Stores nodes at their paths, all or none, durably.
    func commit(_ values: PathTree<Node>, to namespace: String) throws(LarderError)

    /// Ends the use of the storage; the completion is called when its files are closed.
    func close(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void)
}
