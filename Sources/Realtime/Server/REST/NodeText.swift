import LarderCore
package import LarderRealtimeModel

/// A large node as JSON text that is made part by part.
package struct NodeText: Sendable, Equatable {
    /// The estimated size from which a node is written in parts.
    static let largeBytes = 1 << 20
    /// The size of a part; a value is not divided.
    private static let partBytes = 64 << 10

    private let node: Node
    private let hasPriorities: Bool

    /// The text of a node, in the export format for one with priorities.
    package init(_ node: Node, hasPriorities: Bool) {
        (self.node, self.hasPriorities) = (node, hasPriorities)
    }

    /// The text of a node that is large; nil for another one.
    init?(large node: Node, hasPriorities: Bool) {
        guard node.estimatedSize > Self.largeBytes else { return nil }
        self.init(node, hasPriorities: hasPriorities)
    }

    /// The parts, in order; each is made when it is asked for.
    package var parts: Parts { Parts(self) }

    /// The JSON of a node.
    func json(of node: Node) -> JSONValue { hasPriorities ? node.exportedJSON : node.plainJSON }

    /// The whole text.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        JSONWriter.append(json(of: node), to: &bytes)
        return bytes
    }

    /// The parts of a text, in order.
    package struct Parts: Sequence, IteratorProtocol {
        /// A node whose children are being written.
        private struct Level {
            let node: Node
            let isArray: Bool
            var children: Node.Children.Iterator
            /// The elements or members that were written.
            var count: Int64 = 0
        }

        private let text: NodeText
        private var levels: [Level] = []
        private var part: [UInt8] = []

        fileprivate init(_ text: NodeText) {
            self.text = text
            begin(text.node)
        }

        package mutating func next() -> [UInt8]? {
            while part.count <= NodeText.partBytes, !levels.isEmpty { appendNext() }
            guard !part.isEmpty else { return nil }
            defer { part = [] }
            return part
        }

        /// Appends a small node, or the beginning of a large one.
        private mutating func begin(_ node: Node) {
            guard node.childCount > 0, node.estimatedSize > NodeText.partBytes else {
                return JSONWriter.append(text.json(of: node), to: &part)
            }
            let isArray = !text.hasPriorities && node.arrayCount != nil
            part.append(UInt8(ascii: isArray ? "[" : "{"))
            levels.append(
                Level(node: node, isArray: isArray, children: node.children.makeIterator()))
        }

        /// Appends the next child of the innermost level, or its end.
        private mutating func appendNext() {
            let last = levels.count - 1
            guard let child = levels[last].children.next() else {
                return appendEnd(of: levels.removeLast())
            }
            if levels[last].isArray, let index = child.key.integer {
                while levels[last].count < index {
                    JSONWriter.append(raw: levels[last].count > 0 ? ",null" : "null", to: &part)
                    levels[last].count += 1
                }
            }
            if levels[last].count > 0 { part.append(UInt8(ascii: ",")) }
            levels[last].count += 1
            if !levels[last].isArray {
                JSONWriter.append(child.key.text, to: &part)
                part.append(UInt8(ascii: ":"))
            }
            begin(child.node)
        }

        private mutating func appendEnd(of level: Level) {
            if text.hasPriorities, level.node.priority != .none {
                JSONWriter.append(raw: ",\".priority\":", to: &part)
                JSONWriter.append(Node(level.node.priority).exportedJSON, to: &part)
            }
            part.append(UInt8(ascii: level.isArray ? "]" : "}"))
        }
    }
}
