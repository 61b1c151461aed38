import Foundation

/// Where a coder is in what it codes: keys back to the root, put into an array only on request.
struct CodingLocation {
    private indirect enum Chain {
        case root
        case key(any CodingKey, Chain)
    }

    private let chain: Chain

    /// The number of keys.
    let depth: Int

    /// How deep a coder goes: deeper than documents may be nested, and shallow enough for any
    /// thread's stack.
    static let maxDepth = 100

    /// The outermost value.
    static var root: CodingLocation { CodingLocation(chain: .root, depth: 0) }

    private init(chain: Chain, depth: Int) {
        self.chain = chain
        self.depth = depth
    }

    /// The place below a key.
    func appending(_ key: any CodingKey) -> CodingLocation {
        CodingLocation(chain: .key(key, chain), depth: depth + 1)
    }

    /// The place of an element.
    func appending(position: Int) -> CodingLocation {
        appending(PlainKey(intValue: position))
    }

    /// The keys from the root.
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

/// A key that belongs to no type: a position, `super`, or a converted name.
struct PlainKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }

    /// Where a class puts what its superclass encodes.
    static let superclass = PlainKey(stringValue: "super")
}

/// Conversion of names between `camelCase` and `snake_case`, with the results of `JSONEncoder`
/// and `JSONDecoder`.
enum SnakeCase {
    /// `camelCase` with its words in lower case between underscores: `myURLField` becomes
    /// `my_url_field`.
    ///
    /// A word begins at a capital; of several capitals in a row the last begins one, where a
    /// small letter follows, and the others are one.
    static func encoding(_ name: String) -> String {
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

    /// `snake_case` as `camelCase`; underscores at the ends stay.
    static func decoding(_ name: String) -> String {
        guard let first = name.firstIndex(where: { $0 != "_" }),
            let last = name.lastIndex(where: { $0 != "_" })
        else { return name }
        let words = name[first...last].split(separator: "_")
        guard words.count > 1 else { return name }
        let joined = words[0].lowercased() + words.dropFirst().map(\.capitalized).joined()
        return name[..<first] + joined + name[name.index(after: last)...]
    }
}
