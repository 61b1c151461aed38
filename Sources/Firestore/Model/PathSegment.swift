/// The rules for one segment of a document or collection path.
enum PathSegment {
    /// Bytes of an id, as Firestore limits them.
    static let maxBytes = 1500

    /// Firestore's order of two segments: numeric ids (`__id42__`) first and by number, the
    /// rest by UTF-8 bytes; of two spellings of one number the canonical one first.
    static func order<C: BidirectionalCollection<UInt8>>(_ left: C, _ right: C) -> Int {
        // No other byte begins a numeric id.
        guard left.first == UInt8(ascii: "_") || right.first == UInt8(ascii: "_") else {
            return left.byteOrder(to: right)
        }
        switch (numericID(left), numericID(right)) {
        case (nil, nil): return left.byteOrder(to: right)
        case (_?, nil): return -1
        case (nil, _?): return 1
        case (let l?, let r?):
            if l != r { return l < r ? -1 : 1 }
            let order = left.byteOrder(to: right)
            guard order != 0 else { return 0 }
            let canonical = "__id\(l)__".utf8
            if left.elementsEqual(canonical) { return -1 }
            return right.elementsEqual(canonical) ? 1 : order
        }
    }

    /// The number in `__id<digits>__`, with an optional minus, where it is an Int64.
    static func numericID<C: BidirectionalCollection<UInt8>>(_ segment: C) -> Int64? {
        guard segment.count > 6, segment.starts(with: "__id".utf8),
            segment.suffix(2).elementsEqual("__".utf8)
        else { return nil }
        let digits = segment.dropFirst(4).dropLast(2)
        // Int64.init also takes a plus, which Firestore does not.
        guard digits.first != UInt8(ascii: "+") else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    /// What is wrong with a segment that comes from a split at slashes; nil when it is sound.
    static func problem(in segment: UnsafeBufferPointer<UInt8>) -> String? {
        guard let first = segment.first else { return "has an empty segment" }
        guard segment.count <= maxBytes else {
            return "has a segment of \(segment.count) bytes; \(maxBytes) are allowed"
        }
        // Only these two bytes begin what is reserved.
        guard first == UInt8(ascii: ".") || first == UInt8(ascii: "_") else { return nil }
        let dots = segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8)
        let reserved =
            segment.count >= 4 && segment.starts(with: "__".utf8)
            && segment.suffix(2).elementsEqual("__".utf8) && numericID(segment) == nil
        guard dots || reserved else { return nil }
        return "has the reserved segment '\(String(decoding: segment, as: UTF8.self))'"
    }
}
