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
