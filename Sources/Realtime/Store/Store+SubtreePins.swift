import CLarder
package import LarderRealtimeModel
package import LarderStorage

extension Store {
    /// Protects the content of a location, and the tracked queries there and below, from eviction
    /// until it is unpinned as often, or the store is closed.
    package func pin(_ path: TreePath, in tree: TreeNumber) throws(LarderError) {
        try withHandle { (environment) throws(LarderError) in
            try call { failure in
                withBytes(path) { larder_node_pin(environment, tree.rawValue, $0, failure) }
            }
        }
    }

    /// Reverts one ``pin(_:in:)``.
    package func unpin(_ path: TreePath, in tree: TreeNumber) throws(LarderError) {
        try withHandle { (environment) throws(LarderError) in
            try call { failure in
                withBytes(path) { larder_node_unpin(environment, tree.rawValue, $0, failure) }
            }
        }
    }
}
