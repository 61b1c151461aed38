import LarderCore

/// A JSON value divided into updates of a limited size.
///
/// A piece is a subtree that fits into one update, or a priority; pieces are disjoint, and a
/// location's priority follows its children.
struct TreePieces {
    /// A subtree at a relative path; an empty path is the whole value.
    struct Piece {
        var path: String
        var value: JSONValue
        /// The estimated size of the value as text.
        var sizeBytes: Int
    }

    /// A location whose data is replaced, with its pieces.
    struct Replacement {
        var path: String
        var pieces: [Piece]

        /// True if several pieces replace the data, which must be removed before.
        var isDivided: Bool { pieces.count > 1 }
    }

    let replacements: [Replacement]
    let totalBytes: Int

    /// Divides values that replace the data at their paths into pieces of at most a size, apart
    /// from single values.
    ///
    /// - Throws: a data error for names that are no keys.
    init(of values: [JSONMember], maxBytes: Int) throws(ToolError) {
        replacements = try values.map { member throws(ToolError) in
            var pieces: [Piece] = []
            try Self.divide(member.value, at: member.name, maxBytes, into: &pieces)
            return Replacement(path: member.name, pieces: pieces)
        }
        totalBytes = replacements.reduce(0) { sum, replacement in
            replacement.pieces.reduce(sum) { $0 + $1.sizeBytes }
        }
    }

    private static func divide(
        _ value: JSONValue, at path: String, _ maxBytes: Int, into pieces: inout [Piece]
    ) throws(ToolError) {
        let size = estimatedBytes(of: value, limit: maxBytes)
        guard size > maxBytes, let children = children(of: value) else {
            pieces.append(Piece(path: path, value: value, sizeBytes: size))
            return
        }
        var priority: JSONValue?
        for child in children {
            if child.name == ".priority" {
                priority = child.value
                continue
            }
            guard !child.name.isEmpty, !child.name.utf8.contains(UInt8(ascii: "/")) else {
                throw ToolError(
                    .badData, "'\(child.name)' below '/\(path)' is not a key",
                    hint: "keys are not empty and have no '/'")
            }
            try divide(child.value, at: join(path, child.name), maxBytes, into: &pieces)
        }
        if let priority {
            pieces.append(Piece(path: join(path, ".priority"), value: priority, sizeBytes: 16))
        }
    }

    /// The children of a value that can be divided; nil for others.
    private static func children(of value: JSONValue) -> [JSONMember]? {
        switch value {
        case .array(let elements):
            return elements.enumerated().map { JSONMember(String($0), $1) }
        case .object(let members):
            let isOneValue = members.contains { $0.name == ".value" || $0.name == ".sv" }
            return isOneValue || members.isEmpty ? nil : members
        default:
            return nil
        }
    }

    private static func join(_ path: String, _ key: String) -> String {
        path.isEmpty ? key : path + "/" + key
    }

    /// The size of a value as text; above the limit any size above it.
    private static func estimatedBytes(of value: JSONValue, limit: Int) -> Int {
        var size = 2
        switch value {
        case .null, .boolean: size += 3
        case .integer, .double: size += 8
        case .string(let string): size += string.utf8.count
        case .array(let elements):
            for element in elements where size <= limit {
                size += 1 + estimatedBytes(of: element, limit: limit - size)
            }
        case .object(let members):
            for member in members where size <= limit {
                size += member.name.utf8.count + 4
                size += estimatedBytes(of: member.value, limit: limit - size)
            }
        }
        return size
    }
}
