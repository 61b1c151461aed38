import Synchronization

extension Node {
    /// The hash by which clients and servers compare nodes: SHA-1 in base 64, and empty text for
    /// an empty node.
    ///
    /// A node with children keeps its hash; a changed one reuses those of its children. A node
    /// with values that the server has yet to compute has no meaningful hash.
    package var hash: String {
        digest?.base64 ?? ""
    }

    /// True if a text is the node's hash; nothing is computed for text that is no hash.
    package func hasHash(_ text: String) -> Bool {
        isEmpty ? text.isEmpty : text.utf8.count == Self.hashLength && text == hash
    }

    /// The length of the hash of a node with content.
    private static let hashLength = 28

    /// The digest behind ``hash``; nil for an empty node.
    fileprivate var digest: SHA1.Digest? {
        switch storage {
        case .empty: return nil
        case .branch(let branch): return branch.digest { branch.computeDigest() }
        case .leaf(let value):
            var hash = SHA1()
            hash.update(value)
            return hash.digest
        case .prioritizedLeaf(let leaf):
            var hash = SHA1()
            hash.update(leaf.priority)
            hash.update(leaf.value)
            return hash.digest
        }
    }
}

extension Branch {
    fileprivate func computeDigest() -> SHA1.Digest {
        var hash = SHA1()
        hash.update(priority)
        if isOrderedByKey(in: .priority) {
            children.root.update(&hash)
        } else {
            for child in Node(storage: .branch(self)).children(by: .priority) { hash.update(child) }
        }
        return hash.digest
    }
}

extension SortedTree<Child>.Subtree {
    /// Feeds the children in the order of their keys, from the last known state on: after a change,
    /// that is the state before the changed child's array.
    fileprivate func update(_ hash: inout SHA1) {
        switch self {
        case .elements(let children):
            let children = children.expanded
            for index in 0..<children.count { hash.update(children[index]) }
        case .block(let block):
            var states = block.checkpoints.withLock { $0 }
            if states.first != hash { states = [hash] }
            for slot in block.slots.dropFirst(states.count - 1) {
                hash = states[states.count - 1]
                slot.subtree.update(&hash)
                states.append(hash)
            }
            hash = states[states.count - 1]
            block.checkpoints.withLock { $0 = states }
        }
    }
}

extension SHA1 {
    /// Feeds the text that stands for a priority in front of a value; nothing for none.
    fileprivate mutating func update(_ priority: Priority) {
        guard let leaf = priority.leaf else { return }
        update("priority:")
        update(leaf)
        update(":")
    }

    fileprivate mutating func update(_ value: LeafValue) {
        switch value {
        case .boolean(let flag): update(flag ? "boolean:true" : "boolean:false")
        case .number(let number):
            update("number:")
            update(number.hexadecimal)
        case .string(let text):
            update("string:")
            update(text)
        case .deferred: break
        }
    }

    fileprivate mutating func update(_ child: Child) {
        guard let digest = child.node.digest else { return }
        update(":")
        update(child.key.text)
        update(":")
        digest.withBase64 { update($0) }
    }
}

extension LeafNumber {
    /// The number's double as 16 hexadecimal digits.
    var hexadecimal: String {
        let digits = String(double.bitPattern, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
