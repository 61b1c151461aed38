import Foundation
package import LarderCore
package import LarderRealtimeModel

/// A subtree of the database as dictionaries, without any of the model's structures: what nodes
/// are compared with.
package struct PlainTree {
    /// The value of a leaf.
    package var value: JSONValue?
    package var priority = JSONValue.null
    package var children: [String: PlainTree] = [:]

    package init() {}

    /// A tree of JSON in the export format.
    package init(_ json: JSONValue) {
        switch json {
        case .null: break
        case .object(let members):
            priority = json[".priority"] ?? .null
            if let value = json[".value"] {
                self.value = value
                return
            }
            for member in members where member.name != ".priority" {
                let child = PlainTree(member.value)
                if !child.isEmpty { children[member.name] = child }
            }
            if children.isEmpty { priority = .null }
        default: value = json
        }
    }

    package init(_ node: Node) {
        self.init(node.exportedJSON)
    }

    package var isEmpty: Bool { value == nil && children.isEmpty }

    /// The tree in the export format, with members in the order of their keys.
    package var json: JSONValue {
        if let value {
            return priority == .null
                ? value : .object([JSONMember(".value", value), JSONMember(".priority", priority)])
        }
        if children.isEmpty { return .null }
        var members = sortedKeys.map { JSONMember($0, children[$0]?.json ?? .null) }
        if priority != .null { members.append(JSONMember(".priority", priority)) }
        return .object(members)
    }

    package var sortedKeys: [String] {
        children.keys.sorted { Self.isOrdered($0, before: $1) }
    }

    /// The order of keys.
    package static func isOrdered(_ left: String, before right: String) -> Bool {
        switch (integer(left), integer(right)) {
        case (let l?, let r?) where l != r: return l < r
        case (_?, _?) where left.count != right.count: return left.count < right.count
        case (_?, nil): return true
        case (nil, _?): return false
        default: return Array(left.utf16).lexicographicallyPrecedes(Array(right.utf16))
        }
    }

    private static func integer(_ key: String) -> Int32? {
        key.first == "+" || key.count > 11 ? nil : Int32(key)
    }

    // MARK: Changes

    /// The subtree at a path.
    package subscript(path: [String]) -> PlainTree {
        guard let key = path.first else { return self }
        if key == ".priority" { return PlainTree(priority) }
        return children[key]?[Array(path.dropFirst())] ?? PlainTree()
    }

    /// Writes a subtree at a path.
    package mutating func set(_ path: [String], to tree: PlainTree) {
        guard let key = path.first else {
            self = tree
            return
        }
        if key == ".priority" {
            if !isEmpty { priority = tree.value ?? .null }
            return
        }
        var child = children[key] ?? PlainTree()
        child.set(Array(path.dropFirst()), to: tree)
        if child.isEmpty {
            guard value == nil else { return }
            children[key] = nil
            if children.isEmpty { priority = .null }
        } else {
            value = nil
            children[key] = child
        }
    }

    // MARK: Hashes

    /// The hash by which clients and servers compare nodes.
    package var hash: String {
        var text = ""
        if priority != .null { text += "priority:" + Self.text(priority) + ":" }
        if let value { return PlainSHA1.base64(Array((text + Self.text(value)).utf8)) }
        let keys = sortedKeys.enumerated().sorted { left, right in
            let order = Self.order(
                children[left.element]?.priority ?? .null,
                children[right.element]?.priority ?? .null)
            return order != 0 ? order < 0 : left.offset < right.offset
        }
        for (_, key) in keys { text += ":" + key + ":" + (children[key]?.hash ?? "") }
        return text.isEmpty ? "" : PlainSHA1.base64(Array(text.utf8))
    }

    private static func text(_ value: JSONValue) -> String {
        switch value {
        case .boolean(let flag): return "boolean:\(flag)"
        case .string(let string): return "string:" + string
        default:
            let digits = String(double(value).bitPattern, radix: 16)
            return "number:" + String(repeating: "0", count: 16 - digits.count) + digits
        }
    }

    private static func double(_ value: JSONValue) -> Double {
        switch value {
        case .integer(let integer): Double(integer)
        case .double(let double): double
        default: .nan
        }
    }

    /// The order of values that are null, booleans, numbers or strings.
    package static func order(_ left: JSONValue, _ right: JSONValue) -> Int {
        func rank(_ value: JSONValue) -> Int {
            switch value {
            case .null: 0
            case .boolean(false): 1
            case .boolean(true): 2
            case .integer, .double: 3
            case .string: 4
            default: 5
            }
        }
        if rank(left) != rank(right) { return rank(left) - rank(right) }
        if case .string(let l) = left, case .string(let r) = right {
            let (l, r) = (Array(l.utf16), Array(r.utf16))
            return l == r ? 0 : l.lexicographicallyPrecedes(r) ? -1 : 1
        }
        if case .integer(let l) = left, case .integer(let r) = right {
            return l == r ? 0 : l < r ? -1 : 1
        }
        let (l, r) = (double(left), double(right))
        return l < r ? -1 : l > r ? 1 : 0
    }
}

/// SHA-1 as the standard describes it, over arrays.
package enum PlainSHA1 {
    /// The digest of some bytes in base 64.
    package static func base64(_ message: [UInt8]) -> String {
        Data(digest(message)).base64EncodedString()
    }

    /// The 20 bytes of the digest.
    package static func digest(_ message: [UInt8]) -> [UInt8] {
        var padded = message + [0x80]
        while padded.count % 64 != 56 { padded.append(0) }
        padded += (0..<8).map { UInt8(truncatingIfNeeded: (message.count * 8) >> (56 - 8 * $0)) }
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
        for start in stride(from: 0, to: padded.count, by: 64) {
            mix(Array(padded[start..<start + 64]), into: &state)
        }
        return state.flatMap { word in (0..<4).map { UInt8(word >> (24 - 8 * $0) & 255) } }
    }

    private static func mix(_ block: [UInt8], into state: inout [UInt32]) {
        func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
            word << count | word >> (32 - count)
        }
        var words = (0..<16).map { index in
            block[index * 4..<index * 4 + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<80 {
            let word = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
            words.append(rotated(word, 1))
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let (mixed, constant): (UInt32, UInt32) =
                switch index / 20 {
                case 0: (b & c | ~b & d, 0x5a82_7999)
                case 1: (b ^ c ^ d, 0x6ed9_eba1)
                case 2: (b & c | b & d | c & d, 0x8f1b_bcdc)
                default: (b ^ c ^ d, 0xca62_c1d6)
                }
            let sum = rotated(a, 5) &+ mixed &+ e &+ constant &+ words[index]
            (e, d, c, b, a) = (d, c, rotated(b, 30), a, sum)
        }
        for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
    }
}
