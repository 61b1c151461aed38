import CLarder
package import LarderCore
package import LarderStorage

/// The number of a tree in its store; trees are namespaces of a Realtime Database.
package struct TreeNumber: Hashable, Sendable {
    /// The number that the core gave.
    package let rawValue: UInt64

    /// A tree by its number.
    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// The tree of a name; nil if there is none.
    package func tree(named name: String) throws(LarderError) -> TreeNumber? {
        var number: UInt64 = 0
        let status = try call { failure in
            withBytes(name) { larder_node_tree_find(snapshot.reader, $0, &number, failure) }
        }
        return status == .ok ? TreeNumber(rawValue: number) : nil
    }

    /// All trees with their names, in the order in which they were made.
    package func trees() throws(LarderError) -> [(tree: TreeNumber, name: String)] {
        var trees: [(tree: TreeNumber, name: String)] = []
        var (number, name): (UInt64, larder_bytes) = (0, .none)
        while try call({ larder_node_tree_next(snapshot.reader, number, &number, &name, $0) })
            == .ok
        {
            trees.append((TreeNumber(rawValue: number), name.text))
        }
        return trees
    }
}

extension WriteTransaction {
    /// The tree of a name, which is made if there is none.
    ///
    /// - Throws: `invalidArgument` for a name that is empty or longer than 400 bytes.
    package mutating func obtainTree(named name: String) throws(LarderError) -> TreeNumber {
        var number: UInt64 = 0
        try call { failure in
            withBytes(name) { larder_node_tree_obtain(writer, $0, &number, failure) }
        }
        return TreeNumber(rawValue: number)
    }
}
