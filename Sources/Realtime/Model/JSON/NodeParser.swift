/// Reads nodes from a JSON text, without a tree of the JSON in between.
///
/// The rules are those of ``NodeImport``.
final class NodeParser {
    private typealias Place = NodeImport.Place

    private let rules: NodeImport
    private let compressor: ChildrenCompressor?
    private let passed: TextProgress
    /// What has ended the reading, other than text that is no JSON.
    private var problem: NodeTextError?

    private init(
        _ rules: NodeImport, _ compressor: ChildrenCompressor?, _ passed: @escaping TextProgress
    ) {
        self.rules = rules
        self.compressor = compressor
        self.passed = passed
    }

    /// Reads a text.
    ///
    /// - Parameters:
    ///   - compressor: what compresses the children of a large tree; nil for none.
    ///   - passed: called with offsets in the text that reading does not return to.
    static func parse<R>(
        _ text: UnsafeRawBufferPointer, _ rules: NodeImport = NodeImport(isStrict: true),
        maximumDepth: Int = 1000, compressor: ChildrenCompressor? = nil,
        passed: @escaping TextProgress = { _ in },
        _ read: (NodeParser, inout JSONReader) throws(JSONError) -> R
    ) throws(NodeTextError) -> R {
        let parser = NodeParser(rules, compressor, passed)
        var reader = JSONReader(text, maximumDepth: maximumDepth)
        do throws(JSONError) {
            _ = reader.peek()
            let result = try read(parser, &reader)
            try reader.finish()
            return result
        } catch {
            throw parser.problem ?? .text(error)
        }
    }

    // MARK: Nodes

    /// Reads a value that is written to a path.
    func readNode(
        _ reader: inout JSONReader, at path: TreePath
    ) throws(JSONError) -> Node {
        if path.isPriority {
            let json = try JSONValue(reading: &reader)
            return Node(try check(reader) { () throws(LarderError) in try rules.priority(json) })
        }
        return try readNode(&reader, at: Place(writing: path))
    }

    private func readNode(
        _ reader: inout JSONReader, at place: Place
    ) throws(JSONError) -> Node {
        switch reader.peek() {
        case UInt8(ascii: "{"): return try readObject(&reader, at: place)
        case UInt8(ascii: "["):
            var children = ChildrenBuilder(compressor)
            var count = 0
            try reader.readArray { (reader) throws(JSONError) in
                children.append(try readChild(ChildKey(String(count)), &reader, at: place))
                count += 1
            }
            return children.node()
        default:
            let json = try JSONValue(reading: &reader)
            return try check(reader) { () throws(LarderError) in
                try rules.node(json, priority: nil, at: place)
            }
        }
    }

    private func readObject(
        _ reader: inout JSONReader, at place: Place
    ) throws(JSONError) -> Node {
        let start = reader.offset
        var children = ChildrenBuilder(compressor)
        // Members that are no children: `.priority`, `.value` and `.sv`.
        var others: [JSONMember] = []
        try reader.readObject { (reader, name) throws(JSONError) in
            if name.utf8.first == UInt8(ascii: ".") {
                others.append(JSONMember(name, try JSONValue(reading: &reader)))
            } else {
                try check(reader) { () throws(LarderError) in try rules.check(key: name) }
                children.append(try readChild(ChildKey(name), &reader, at: place))
            }
        }
        if let name = others.duplicateName ?? children.duplicateKey?.text {
            throw JSONError(offset: start, reason: "duplicate name '\(name)'")
        }
        guard !others.isEmpty else { return children.node() }
        return try check(reader) { () throws(LarderError) in
            try rules.node(children, others, at: place)
        }
    }

    private func readChild(
        _ key: ChildKey, _ reader: inout JSONReader, at place: Place
    ) throws(JSONError) -> Child {
        let place = place.child(key)
        try check(reader) { () throws(LarderError) in try rules.check(place) }
        let child = Child(key, try readNode(&reader, at: place))
        try pass(reader)
        return child
    }

    // MARK: Updates

    /// Reads the values of an update of a location, by their paths.
    func readUpdate(
        _ reader: inout JSONReader, at path: TreePath
    ) throws(JSONError) -> [PathValue] {
        guard reader.peek() == UInt8(ascii: "{") else {
            _ = try JSONValue(reading: &reader)
            problem = .data(.invalidValue("an update is an object of paths and values"))
            throw reader.failure("no object")
        }
        var values: [PathValue] = []
        try reader.readObject { (reader, name) throws(JSONError) in
            let relative = try check(reader) { () throws(LarderError) in
                try TreePath(updating: name, below: path)
            }
            values.append(
                PathValue(relative, try readNode(&reader, at: path.appending(relative))))
            try pass(reader)
        }
        try check(reader) { () throws(LarderError) in try values.checkDisjoint() }
        return values
    }

    // MARK: Problems

    /// Calls a check of data, whose error ends the reading.
    private func check<R>(
        _ reader: JSONReader, _ body: () throws(LarderError) -> R
    ) throws(JSONError) -> R {
        do throws(LarderError) {
            return try body()
        } catch {
            problem = .data(error)
            throw reader.failure(error.message)
        }
    }

    private func pass(_ reader: JSONReader) throws(JSONError) {
        do throws(LarderError) {
            try passed(reader.offset)
        } catch {
            problem = .stopped(error)
            throw reader.failure(error.message)
        }
    }
}

/// Called with offsets in a text that a reader does not return to; what it throws ends the reading.
package typealias TextProgress = (Int) throws(LarderError) -> Void

/// The reason why no data was read from a text.
package enum NodeTextError: Error {
    /// The text is no JSON.
    case text(JSONError)
    /// The data is invalid.
    case data(LarderError)
    /// The reading was ended.
    case stopped(LarderError)
}

extension Node {
    /// The node of a JSON text that an application writes.
    ///
    /// - Parameters:
    ///   - path: the place that is written to, which may end in `.priority`.
    ///   - compressor: what compresses the children of a large tree; nil for none.
    ///   - passed: called with offsets in the text that reading does not return to.
    package init(
        parsing text: UnsafeRawBufferPointer, at path: TreePath = .root,
        _ compressor: ChildrenCompressor? = nil, passed: @escaping TextProgress = { _ in }
    ) throws(NodeTextError) {
        self = try NodeParser.parse(text, compressor: compressor, passed: passed) {
            (parser, reader) throws(JSONError) in
            try parser.readNode(&reader, at: path)
        }
    }
}

extension Node {
    /// The node of a JSON text in the export format, from a server: ``init(exported:)`` of its JSON.
    ///
    /// - Parameter maximumDepth: the maximum nesting of arrays and objects, at most 1,000.
    package init(
        parsingExported text: UnsafeRawBufferPointer, maximumDepth: Int
    ) throws(NodeTextError) {
        self = try NodeParser.parse(
            text, NodeImport(isStrict: false), maximumDepth: min(maximumDepth, 1000)
        ) { (parser, reader) throws(JSONError) in
            try parser.readNode(&reader, at: .root)
        }
    }
}

extension [PathValue] {
    /// The values of an update of a location by a JSON text.
    ///
    /// - Parameters:
    ///   - compressor: what compresses the children of large trees; nil for none.
    ///   - passed: called with offsets in the text that reading does not return to.
    package init(
        parsingUpdate text: UnsafeRawBufferPointer, at path: TreePath,
        _ compressor: ChildrenCompressor? = nil, passed: @escaping TextProgress = { _ in }
    ) throws(NodeTextError) {
        self = try NodeParser.parse(text, compressor: compressor, passed: passed) {
            (parser, reader) throws(JSONError) in
            try parser.readUpdate(&reader, at: path)
        }
    }
}
