import LarderModel

/// Reads the raw records of the C program (tag, length, value; `raw_record.c`) as values.
struct RawRecordReader {
    private var rest: UnsafeRawBufferPointer.SubSequence

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes[...] }

    private init(_ bytes: UnsafeRawBufferPointer.SubSequence) { rest = bytes }

    mutating func document() throws(LarderError) -> MapValue {
        var pairs: [MapValue.Element] = []
        while !rest.isEmpty {
            skip(1)
            var entry = try part()
            entry.skip(1)
            let name = try entry.text()
            entry.skip(1)
            var value = try entry.part()
            pairs.append((name, try value.value()))
        }
        return MapValue(pairs)
    }

    private mutating func value() throws(LarderError) -> Value {
        switch rest.popFirst() {
        case 0x08: return .boolean(varint() != 0)
        case 0x10: return .integer(Int64(bitPattern: varint()))
        case 0x19: return .double(try real())
        case 0x2a: return .reference(ResourceName(try text()))
        case 0x32:
            var map = try part()
            return .map(try map.document())
        case 0x42:
            var point = try part()
            point.skip(1)
            let latitude = try point.real()
            point.skip(1)
            return .geoPoint(GeoPoint(latitude: latitude, longitude: try point.real()))
        case 0x4a:
            var elements = try part()
            return .array(try elements.elements())
        case 0x52:
            var time = try part()
            time.skip(1)
            let seconds = Int64(bitPattern: time.varint())
            time.skip(1)
            return .timestamp(
                Timestamp(seconds: seconds, nanoseconds: Int32(truncatingIfNeeded: time.varint())))
        case 0x58: return .null
        case 0x8a:
            skip(1)
            return .string(try text())
        case let tag:
            throw LarderError(.internal, "A raw record has the tag \(String(describing: tag)).")
        }
    }

    private mutating func elements() throws(LarderError) -> [Value] {
        var values: [Value] = []
        while !rest.isEmpty {
            skip(1)
            var element = try part()
            values.append(try element.value())
        }
        return values
    }

    private mutating func skip(_ count: Int) { rest = rest.dropFirst(count) }

    private mutating func varint() -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while let byte = rest.popFirst() {
            number |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { break }
            shift += 7
        }
        return number
    }

    private mutating func part() throws(LarderError) -> RawRecordReader {
        let size = Int(truncatingIfNeeded: varint())
        guard size >= 0, size <= rest.count else {
            throw LarderError(.internal, "A part of a raw record is longer than the record.")
        }
        defer { skip(size) }
        return RawRecordReader(rest.prefix(size))
    }

    private mutating func text() throws(LarderError) -> String {
        String(decoding: try part().rest, as: UTF8.self)
    }

    private mutating func real() throws(LarderError) -> Double {
        guard rest.count >= 8 else {
            throw LarderError(.internal, "A raw record ends inside a number.")
        }
        defer { skip(8) }
        return UnsafeRawBufferPointer(rebasing: rest).loadUnaligned(as: Double.self)
    }
}
