/// The segments of a path, one after the other, read from its bytes in place.
struct PathSegments {
    private var rest: Slice<UnsafeRawBufferPointer>
    private var last: UnsafeRawBufferPointer?

    /// The segments of a path, and one more behind them.
    init(_ path: UnsafeRawBufferPointer, _ last: UnsafeRawBufferPointer? = nil) {
        rest = path[...]
        self.last = last
    }

    /// The next segment; nil behind the last.
    mutating func next() -> UnsafeRawBufferPointer? {
        guard !rest.isEmpty else {
            defer { last = nil }
            return last
        }
        let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        defer { rest = rest[end...].dropFirst() }
        return UnsafeRawBufferPointer(rebasing: rest[..<end])
    }

    /// Firestore's order of what is left of two paths: segment by segment, the shorter first
    /// where one begins the other.
    static func order(_ left: inout PathSegments, _ right: inout PathSegments) -> Int {
        while true {
            switch (left.next(), right.next()) {
            case (nil, nil): return 0
            case (nil, _?): return -1
            case (_?, nil): return 1
            case (let l?, let r?):
                let order = PathSegment.order(l, r)
                if order != 0 { return order }
            }
        }
    }
}
