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

    /// The same of two whole paths; what comes before the first segments that differ is passed
    /// over.
    static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let slash = UInt8(ascii: "/")
        let shared = left.sharedPrefixCount(with: right)
        let start = left[..<shared].lastIndex(of: slash).map { $0 + 1 } ?? 0
        let order = PathSegment.order(
            UnsafeRawBufferPointer(rebasing: left[start...].prefix { $0 != slash }),
            UnsafeRawBufferPointer(rebasing: right[start...].prefix { $0 != slash }))
        return order != 0 ? order : left.count - right.count
    }
}

extension UnsafeRawBufferPointer {
    /// How many bytes at the beginning are the same in both.
    fileprivate func sharedPrefixCount(with other: UnsafeRawBufferPointer) -> Int {
        let end = Swift.min(count, other.count)
        var position = 0
        while position + 8 <= end {
            let difference =
                loadUnaligned(fromByteOffset: position, as: UInt64.self)
                ^ other.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            if difference != 0 {
                return position + difference.littleEndian.trailingZeroBitCount / 8
            }
            position += 8
        }
        while position < end, self[position] == other[position] { position += 1 }
        return position
    }
}
