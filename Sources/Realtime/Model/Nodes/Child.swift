/// A child with its key.
package struct Child: Sendable, Equatable {
    package let key: ChildKey
    package let node: Node

    package init(_ key: ChildKey, _ node: Node) {
        self.key = key
        self.node = node
    }
}

extension Child: SortedTreeElement {
    var sortKey: ChildKey { key }

    static func order(_ left: ChildKey, _ right: ChildKey) -> Int { left.order(to: right) }
}
