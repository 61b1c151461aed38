/// A leaf with its key, whose text is borrowed: that of stored bytes.
package struct RawLeaf {
    package enum Value {
        case boolean(Bool)
        case number(LeafNumber)
        case text(UnsafeRawBufferPointer)
    }

    /// The most leaves that are packed together.
    package static var maximumCount: Int { SortedTree<Child>.maximumCount }

    /// UTF-8, as that of a value.
    let key: UnsafeRawBufferPointer
    let value: Value

    package init(key: UnsafeRawBufferPointer, value: Value) {
        (self.key, self.value) = (key, value)
    }

    var estimatedSize: Int {
        let valueSize =
            switch value {
            case .boolean: LeafValue.boolean(false).estimatedSize
            case .number(let number): LeafValue.number(number).estimatedSize
            case .text(let text): LeafValue.estimatedSize(ofUTF16Count: text.utf16Count)
            }
        return ChildrenSummary.estimatedSize(ofUTF16Count: key.utf16Count, valueSize)
    }
}

extension UnsafeRawBufferPointer {
    /// The count of UTF-16 code units of UTF-8.
    fileprivate var utf16Count: Int {
        var count = 0
        for byte in self { count += (byte & 0xc0 == 0x80 ? 0 : 1) + (byte < 0xf0 ? 0 : 1) }
        return count
    }
}

extension Node {
    /// A node of leaves whose keys ascend; nil if they are too many or too long to be packed.
    ///
    /// - Parameter compressor: what compresses them if they are part of a large tree; nil for none.
    package init?(
        rawLeaves: some Collection<RawLeaf>, priority: Priority,
        _ compressor: ChildrenCompressor? = nil
    ) {
        guard rawLeaves.count <= RawLeaf.maximumCount,
            let leaves = PackedLeaves(rawLeaves)
        else { return nil }
        var children = SortedTree<Child>()
        children.root = .elements(.packed(compressor?.compress(leaves) ?? .leaves(leaves)))
        self.init(children, priority)
    }
}
