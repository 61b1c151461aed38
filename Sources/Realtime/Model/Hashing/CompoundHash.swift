/// Hashes of consecutive ranges of a node's leaves, by which a server finds out which ranges of a
/// cached node differ from its own.
package struct CompoundHash: Hashable, Sendable {
    /// The last leaf of each range but the final one, which is open; relative to the node.
    package var posts: [TreePath]
    /// The hash of each range: one more than posts.
    package var hashes: [String]

    package init(posts: [TreePath], hashes: [String]) {
        self.posts = posts
        self.hashes = hashes
    }
}
