package import LarderCore
import LarderRealtimeModel

/// A large node as JSON text that is made part by part.
package struct NodeText: Sendable, Equatable {
    /// The estimated size from which a node is written in parts.
    static let largeBytes = 1 << 20
    /// The size of a part; a value is not divided.
    private static let partBytes = 64 << 10

    private let node: Node
    private let hasPriorities: Bool

    /// The text of a node; nil for one that is small.
    init?(_ node: Node, hasPriorities: Bool) {
        guard node.estimatedSize > Self.largeBytes else { return nil }
        (self.node, self.hasPriorities) = (node, hasPriorities)
    }

    /// Calls a closure with one part after the other.
    package func forEachPart(
        _ write: ([UInt8]) async throws(LarderError) -> Void
    ) async throws(LarderError) {
        var part: [UInt8] = []
        try await append(node, to: &part, write)
        try await write(part)
    }

    /// The JSON of a node.
    func json(of node: Node) -> JSONValue { hasPriorities ? node.exportedJSON : node.plainJSON }

    /// The whole text.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        JSONWriter.append(json(of: node), to: &bytes)
        return bytes
    }

    private func append(
        _ node: Node, to part: inout [UInt8],
        _ write: ([UInt8]) async throws(LarderError) -> Void
    ) async throws(LarderError) {
        guard node.childCount > 0, node.estimatedSize > Self.partBytes else {
            JSONWriter.append(json(of: node), to: &part)
            guard part.count > Self.partBytes else { return }
            try await write(part)
            return part.removeAll(keepingCapacity: true)
        }
        let isArray = !hasPriorities && node.arrayCount != nil
        part.append(UInt8(ascii: isArray ? "[" : "{"))
        var count: Int64 = 0
        for child in node.children {
            if isArray, let index = child.key.integer {
                while count < index {
                    JSONWriter.append(raw: count > 0 ? ",null" : "null", to: &part)
                    count += 1
                }
            }
            if count > 0 { part.append(UInt8(ascii: ",")) }
            count += 1
            if !isArray {
                JSONWriter.append(child.key.text, to: &part)
                part.append(UInt8(ascii: ":"))
            }
            try await append(child.node, to: &part, write)
        }
        if hasPriorities, node.priority != .none {
            JSONWriter.append(raw: ",\".priority\":", to: &part)
            JSONWriter.append(Node(node.priority).exportedJSON, to: &part)
        }
        part.append(UInt8(ascii: isArray ? "]" : "}"))
    }
}
