extension Node {
    /// The node in the export format: with priorities, and without arrays.
    ///
    /// This is the format of messages and of stored data.
    package var exportedJSON: JSONValue {
        switch storage {
        case .empty: return .null
        case .leaf(let value): return value.json
        case .prioritizedLeaf(let leaf):
            return .object([
                JSONMember(".value", leaf.value.json),
                JSONMember(".priority", Node(leaf.priority).exportedJSON),
            ])
        case .branch(let branch):
            var members = branch.children.map { JSONMember($0.key.text, $0.node.exportedJSON) }
            if let priority = branch.priority.leaf {
                members.append(JSONMember(".priority", priority.json))
            }
            return .object(members)
        }
    }

    /// Appends the text of ``exportedJSON``, which is not made.
    package func appendExportedText(to bytes: inout [UInt8]) {
        guard case .branch(let branch) = storage else {
            return JSONWriter.append(exportedJSON, to: &bytes)
        }
        var separator = UInt8(ascii: "{")
        for child in branch.children {
            bytes.append(separator)
            separator = UInt8(ascii: ",")
            JSONWriter.append(child.key.text, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            child.node.appendExportedText(to: &bytes)
        }
        if let priority = branch.priority.leaf {
            JSONWriter.append(raw: ",\".priority\":", to: &bytes)
            JSONWriter.append(priority.json, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// The node as applications see it: without priorities, and as an array where its keys are
    /// mostly consecutive numbers from 0 on.
    package var plainJSON: JSONValue {
        guard let branch else { return leafValue?.json ?? .null }
        guard let count = branch.arrayCount else {
            return .object(branch.children.map { JSONMember($0.key.text, $0.node.plainJSON) })
        }
        var elements = [JSONValue](repeating: .null, count: count)
        for child in branch.children {
            if let index = child.key.integer { elements[Int(index)] = child.node.plainJSON }
        }
        return .array(elements)
    }

    /// The length of the array that the node is for applications; nil if it is none.
    package var arrayCount: Int? { branch?.arrayCount }
}

extension Branch {
    /// All keys are numbers from 0 on, in their only notation, and more than half of the places
    /// are taken.
    fileprivate var arrayCount: Int? {
        // Numbers are ordered first: the ends tell whether there is anything else.
        guard let first = children.first?.key.integer, first >= 0,
            let last = children.last?.key.integer, Int(last) < 2 * children.count
        else { return nil }
        let isCanonical = children.allSatisfy { child in
            child.key.text.utf8.first != UInt8(ascii: "0")
                && child.key.text.utf8.first != UInt8(ascii: "-")
                || child.key.text.utf8.count == 1
        }
        return isCanonical ? Int(last) + 1 : nil
    }
}

extension LeafValue {
    /// The value as JSON.
    package var json: JSONValue {
        switch self {
        case .boolean(let flag): .boolean(flag)
        case .number(let number): number.integer.map { .integer($0) } ?? .double(number.double)
        case .string(let text): .string(text)
        case .deferred(.timestamp): .object([JSONMember(".sv", .string("timestamp"))])
        case .deferred(.increment(let delta)):
            .object([
                JSONMember(".sv", .object([JSONMember("increment", LeafValue.number(delta).json)]))
            ])
        }
    }
}

extension Node: CustomStringConvertible {
    /// The node in the export format.
    @usableFromInline package var description: String {
        var bytes: [UInt8] = []
        appendExportedText(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
