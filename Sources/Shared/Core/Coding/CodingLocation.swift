import Foundation

/// The coding path, stored as a linked list that is converted to an array only on request.
package struct CodingLocation {
    private indirect enum Chain {
        case root
        case key(any CodingKey, Chain)
    }

    private let chain: Chain

    let depth: Int

    /// The maximum depth of coders: deeper than documents can be nested, and shallow enough for any
    /// thread's stack.
    static let maxDepth = 100

    package static var root: CodingLocation { CodingLocation(chain: .root, depth: 0) }

    private init(chain: Chain, depth: Int) {
        self.chain = chain
        self.depth = depth
    }

    /// The path extended by a key.
    func appending(_ key: any CodingKey) -> CodingLocation {
        CodingLocation(chain: .key(key, chain), depth: depth + 1)
    }

    /// The path extended by an array index.
    func appending(position: Int) -> CodingLocation {
        appending(PlainKey(position: position))
    }

    var path: [any CodingKey] {
        var keys: [any CodingKey] = []
        keys.reserveCapacity(depth)
        var rest = chain
        while case .key(let key, let outer) = rest {
            keys.append(key)
            rest = outer
        }
        return keys.reversed()
    }
}

/// A generic coding key: an index, `super` or a converted name.
package struct PlainKey: CodingKey {
    package let stringValue: String
    package let intValue: Int?

    package init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    package init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }

    /// The key of an array's index, written as Apple's coders do.
    init(position: Int) {
        stringValue = "Index \(position)"
        intValue = position
    }

    /// The key of a superclass's encoded data.
    static let superclass = PlainKey(stringValue: "super")
}

/// Conversion between `camelCase` and `snake_case`, with the same results as `JSONEncoder` and
/// `JSONDecoder`.
package enum SnakeCase {
    /// Converts `camelCase` to `snake_case`: `myURLField` becomes `my_url_field`.
    ///
    /// A word starts at an uppercase letter; in a run of uppercase letters followed by a lowercase
    /// letter, the last one starts a new word.
    package static func encoding(_ name: String) -> String {
        let letters = Array(name)
        var words: [ArraySlice<Character>] = []
        var (start, searched) = (0, 1)
        while let capital = letters.indices.dropFirst(searched).first(where: {
            letters[$0].isUppercase
        }) {
            words.append(letters[start..<capital])
            start = capital
            guard
                let small = letters.indices.dropFirst(capital).first(where: {
                    letters[$0].isLowercase
                })
            else { break }
            if small > capital + 1 {
                words.append(letters[capital..<small - 1])
                start = small - 1
            }
            searched = small + 1
        }
        words.append(letters[start...])
        return words.map { String($0).lowercased() }.joined(separator: "_")
    }

    /// Converts `snake_case` to `camelCase`; leading and trailing underscores are kept.
    package static func decoding(_ name: String) -> String {
        guard let first = name.firstIndex(where: { $0 != "_" }),
            let last = name.lastIndex(where: { $0 != "_" })
        else { return name }
        let words = name[first...last].split(separator: "_")
        guard words.count > 1 else { return name }
        let joined = words[0].lowercased() + words.dropFirst().map(\.capitalized).joined()
        return name[..<first] + joined + name[name.index(after: last)...]
    }
}
