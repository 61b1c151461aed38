import LarderModel

/// Records as the fields of a document's message: the same bytes that SwiftProtobuf makes of the
/// messages that ``MessageCoder`` makes.
extension BackwardWriter {
    /// Every field of a record, in UTF-8 order of their names.
    ///
    /// - Throws: `dataLoss` for a damaged record; `invalidArgument` for what exists locally only.
    mutating func write(_ record: Record, field: UInt64) throws(LarderError) {
        try record.withView { view throws(LarderError) in
            try view.forEachFieldFromLast { name, value throws(LarderError) in
                try writeEntry(name, value, field: field)
            }
        }
    }

    /// A time.
    mutating func write(_ time: Timestamp, field: UInt64) {
        let end = count
        if time.nanoseconds != 0 {
            write(UInt64(bitPattern: Int64(time.nanoseconds)), field: 2)
        }
        if time.seconds != 0 { write(UInt64(bitPattern: time.seconds), field: 1) }
        enclose(since: end, field: field)
    }

    /// Numbers of targets; none for no numbers.
    mutating func write(_ targetIDs: [Int32], field: UInt64) {
        guard !targetIDs.isEmpty else { return }
        let end = count
        for id in targetIDs.reversed() { writeNumber(UInt64(bitPattern: Int64(id))) }
        enclose(since: end, field: field)
    }

    private mutating func writeEntry(
        _ name: UnsafeRawBufferPointer, _ value: borrowing ValueView, field: UInt64
    ) throws(LarderError) {
        let end = count
        try write(value, field: 2)
        if !name.isEmpty { writeContent(name, field: 1) }
        enclose(since: end, field: field)
    }

    private mutating func write(_ value: borrowing ValueView, field: UInt64) throws(LarderError) {
        let end = count
        try write(value)
        enclose(since: end, field: field)
    }

    private mutating func write(_ value: borrowing ValueView) throws(LarderError) {
        switch value.type {
        case .null: write(UInt64(0), field: 11)
        case .boolean: write(UInt64(try sound(value.boolean) ? 1 : 0), field: 1)
        case .integer: write(UInt64(bitPattern: try sound(value.integer)), field: 2)
        case .double: write(try sound(value.double), field: 3)
        case .timestamp: write(try sound(value.timestamp), field: 10)
        case .string: try writeContent(value, field: 17)
        case .bytes: try writeContent(value, field: 18)
        case .reference: try writeContent(value, field: 5)
        case .geoPoint: write(try sound(value.geoPoint))
        case .array:
            let end = count
            try value.forEachElementFromLast { element throws(LarderError) in
                try write(element, field: 1)
            }
            enclose(since: end, field: 9)
        case .vector: write(try sound(value.vector))
        case .map:
            let end = count
            try value.forEachEntryFromLast { name, value throws(LarderError) in
                try writeEntry(name, value, field: 1)
            }
            enclose(since: end, field: 6)
        case .serverTimestamp:
            throw .invalidArgument("a server timestamp that is pending cannot be sent")
        case .max: throw .invalidArgument("the value above all others cannot be sent")
        case nil: throw .damagedValue
        }
    }

    private mutating func writeContent(_ value: borrowing ValueView, field: UInt64)
        throws(LarderError)
    {
        try sound(value.withUnsafeContent { writeContent($0, field: field) })
    }

    private mutating func write(_ place: GeoPoint) {
        let end = count
        if place.longitude.bitPattern != 0 { write(place.longitude, field: 2) }
        if place.latitude.bitPattern != 0 { write(place.latitude, field: 1) }
        enclose(since: end, field: 8)
    }

    /// The map that a vector is sent as.
    private mutating func write(_ vector: VectorValue) {
        let map = count
        var end = count
        for component in vector.components.reversed() {
            let element = count
            write(component, field: 3)
            enclose(since: element, field: 1)
        }
        enclose(since: end, field: 9)
        enclose(since: end, field: 2)
        write(VectorValue.componentsName, field: 1)
        enclose(since: end, field: 1)
        end = count
        write(VectorValue.typeText, field: 17)
        enclose(since: end, field: 2)
        write(VectorValue.typeName, field: 1)
        enclose(since: end, field: 1)
        enclose(since: map, field: 6)
    }

    /// What a value holds that says that it does.
    private func sound<T>(_ content: T?) throws(LarderError) -> T {
        guard let content else { throw .damagedValue }
        return content
    }
}
