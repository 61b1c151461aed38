package import LarderModel
package import LarderRemote

/// Decodes documents in responses from bytes to records, without intermediate messages.
///
/// This fast path accepts only the usual encoding: each field once, no unknown fields, everything
/// within its limits. All else is decoded by SwiftProtobuf and the message coding, the single
/// source of errors.
extension MessageCoder {
    /// Decodes a response of a Listen stream.
    ///
    /// - Throws: `internal` for malformed bytes, and as
    ///   ``decode(_:)-(Google_Firestore_V1_ListenResponse)``.
    package func decode(listenResponse bytes: [UInt8]) throws(LarderError) -> WatchResponse {
        if let plain = plain(listenResponse: bytes) { return plain }
        return try decode(ResponseDeserializer.message(bytes))
    }

    /// Decodes a document change on the fast path; nil if the response is anything else.
    func plain(listenResponse bytes: [UInt8]) -> WatchResponse? {
        guard bytes.first == 0x1a else { return nil }
        return bytes.withUnsafeBytes { bytes in try? plainChange(bytes) }
    }

    private func plainChange(_ bytes: UnsafeRawBufferPointer) throws -> WatchResponse {
        var response = FieldReader(bytes)
        guard try response.number() == 0x1a else { throw NeedsFullDecoding() }
        var change = FieldReader(try response.content())
        guard response.isAtEnd, try change.number() == 0x0a else { throw NeedsFullDecoding() }
        let reading = try plainDocument(try change.content())
        var (targetIDs, removedTargetIDs): ([Int32], [Int32]) = ([], [])
        while !change.isAtEnd {
            switch try change.number() {
            case 0x2a: try append(try change.content(), to: &targetIDs)
            case 0x32: try append(try change.content(), to: &removedTargetIDs)
            default: throw NeedsFullDecoding()
            }
        }
        return .document(reading, targetIDs: targetIDs, removedTargetIDs: removedTargetIDs)
    }

    private func append(_ packed: UnsafeRawBufferPointer, to ids: inout [Int32]) throws {
        var numbers = FieldReader(packed)
        while !numbers.isAtEnd { ids.append(Int32(truncatingIfNeeded: try numbers.number())) }
    }

    private func plainDocument(_ bytes: UnsafeRawBufferPointer) throws -> DocumentReading {
        var document = FieldReader(bytes)
        let path = try plainName(&document)
        var (createTime, updateTime): (Timestamp?, Timestamp?)
        let record = try plainRecord(&document) { number, document in
            switch number {
            case 0x1a where createTime == nil:
                createTime = try plainTime(try document.content())
            case 0x22 where updateTime == nil:
                updateTime = try plainTime(try document.content())
            default: throw NeedsFullDecoding()
            }
        }
        guard let updateTime else { throw NeedsFullDecoding() }
        return DocumentReading(
            path: path, contents: .found(record, createTime: createTime),
            version: SnapshotVersion(updateTime))
    }

    /// Decodes the fields of a document.
    ///
    /// - Parameter takeOther: decodes another field of the document, given its tag.
    func plainRecord(
        _ document: inout FieldReader,
        _ takeOther: (UInt64, inout FieldReader) throws -> Void
    ) throws -> Record {
        try builder.reset()
        try builder.beginMap()
        while !document.isAtEnd {
            let number = try document.number()
            if number == 0x12 {
                try appendPlain(entry: try document.content(), depth: 0)
            } else {
                try takeOther(number, &document)
            }
        }
        try builder.endMap()
        let record = try builder.finishRecord()
        guard record.sizeBytes <= limits.maxDocumentBytes else { throw NeedsFullDecoding() }
        return record
    }

    /// Decodes a document's path, which must come first.
    func plainName(_ document: inout FieldReader) throws -> DocumentPath {
        guard try document.number() == 0x0a else { throw NeedsFullDecoding() }
        let name = try document.content()
        let prefix = documentsPrefix.utf8
        guard name.starts(with: prefix),
            let text = String(validating: name.dropFirst(prefix.count), as: UTF8.self)
        else { throw NeedsFullDecoding() }
        let path = try DocumentPath(text)
        guard path.string.utf8.count == text.utf8.count else { throw NeedsFullDecoding() }
        return path
    }

    private func plainTime(_ bytes: UnsafeRawBufferPointer) throws -> Timestamp {
        var time = FieldReader(bytes)
        var (seconds, nanoseconds): (Int64?, Int32?)
        while !time.isAtEnd {
            switch try time.number() {
            case 0x08 where seconds == nil: seconds = Int64(bitPattern: try time.number())
            case 0x10 where nanoseconds == nil:
                nanoseconds = Int32(truncatingIfNeeded: try time.number())
            default: throw NeedsFullDecoding()
            }
        }
        return try Timestamp(
            validatingSeconds: seconds ?? 0, nanoseconds: nanoseconds ?? 0)
    }

    /// Appends a map entry to the innermost open map.
    private func appendPlain(entry bytes: UnsafeRawBufferPointer, depth: Int) throws {
        var entry = FieldReader(bytes)
        guard try entry.number() == 0x0a else { throw NeedsFullDecoding() }
        let name = try entry.content()
        guard try entry.number() == 0x12 else { throw NeedsFullDecoding() }
        let value = try entry.content()
        // A map with that key may be a vector.
        guard entry.isAtEnd, depth == 0 || !name.elementsEqual(VectorValue.typeName.utf8) else {
            throw NeedsFullDecoding()
        }
        try builder.appendName(utf8: name)
        try appendPlain(value, depth: depth)
    }

    private func appendPlain(_ bytes: UnsafeRawBufferPointer, depth: Int) throws {
        var value = FieldReader(bytes)
        switch PlainValue(rawValue: try value.number()) {
        case nil: throw NeedsFullDecoding()
        case .null: try appendNull(try value.number())
        case .boolean: try builder.append(.boolean(try value.number() != 0))
        case .integer: try builder.append(.integer(Int64(bitPattern: try value.number())))
        case .double: try builder.append(.double(try value.double()))
        case .timestamp:
            let time = try plainTime(try value.content())
            try builder.append(.timestamp(time.truncatedToMicroseconds))
        case .string: try builder.append(utf8: try value.content())
        case .bytes: try builder.append(bytes: try value.content())
        case .reference:
            guard let name = String(validating: try value.content(), as: UTF8.self) else {
                throw NeedsFullDecoding()
            }
            try append(reference: name)
        case .geoPoint: try builder.append(.geoPoint(try plainPlace(try value.content())))
        case .array:
            var elements = FieldReader(try value.content())
            try checkDepth(depth)
            try builder.beginArray()
            while !elements.isAtEnd {
                guard try elements.number() == 0x0a else { throw NeedsFullDecoding() }
                try appendPlain(try elements.content(), depth: depth + 1)
            }
            try builder.endArray()
        case .map:
            var entries = FieldReader(try value.content())
            try checkDepth(depth)
            try builder.beginMap()
            while !entries.isAtEnd {
                guard try entries.number() == 0x0a else { throw NeedsFullDecoding() }
                try appendPlain(entry: try entries.content(), depth: depth + 1)
            }
            try builder.endMap()
        }
        guard value.isAtEnd else { throw NeedsFullDecoding() }
    }

    private func appendNull(_ number: UInt64) throws {
        guard number == 0 else { throw NeedsFullDecoding() }
        try builder.append(.null)
    }

    private func plainPlace(_ bytes: UnsafeRawBufferPointer) throws -> GeoPoint {
        var place = FieldReader(bytes)
        var (latitude, longitude): (Double?, Double?)
        while !place.isAtEnd {
            switch try place.number() {
            case 0x09 where latitude == nil: latitude = try place.double()
            case 0x11 where longitude == nil: longitude = try place.double()
            default: throw NeedsFullDecoding()
            }
        }
        return try GeoPoint(validatingLatitude: latitude ?? 0, longitude: longitude ?? 0)
    }
}

/// The tag of a value message's single field.
private enum PlainValue: UInt64 {
    case boolean = 0x08
    case integer = 0x10
    case double = 0x19
    case reference = 0x2a
    case map = 0x32
    case geoPoint = 0x42
    case array = 0x4a
    case timestamp = 0x52
    case null = 0x58
    case string = 0x8a
    case bytes = 0x92
}
