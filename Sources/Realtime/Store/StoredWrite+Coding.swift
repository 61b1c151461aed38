import Foundation
import LarderRealtimeModel

// A write's payload: format (1) | kind (1) | path | the rest by kind
//
//   0 overwrite    node
//   1 merge        count | path, node ...
//   2 transaction  flags (1: bit 0 visible, bit 1 sent) | base hash | node
//
// Paths and the hash are text behind its size, nodes the core's encoding behind its size, counts
// and sizes varints. A refused write's payload: format (1) | seconds, nanoseconds of the write
// (zigzag varints) | code (zigzag varint) | domain | message | the write's payload.

private let format: UInt8 = 1

private enum Kind: UInt8 {
    case overwrite, merge, transaction
}

extension StoredWrite {
    /// The stored part of the write besides its number and time.
    var payload: [UInt8] {
        var writer = NodeWriter()
        append(to: &writer)
        return writer.bytes
    }

    fileprivate func append(to writer: inout NodeWriter) {
        writer.append(byte: format)
        switch content {
        case .overwrite(let path, let node):
            writer.append(byte: Kind.overwrite.rawValue)
            writer.append(path)
            writer.append(sized: node)
        case .merge(let path, let values):
            writer.append(byte: Kind.merge.rawValue)
            writer.append(path)
            writer.append(number: UInt64(values.count))
            for value in values {
                writer.append(value.path)
                writer.append(sized: value.node)
            }
        case .transaction(let transaction):
            writer.append(byte: Kind.transaction.rawValue)
            writer.append(transaction.path)
            writer.append(byte: (transaction.isVisible ? 1 : 0) | (transaction.wasSent ? 2 : 0))
            writer.append(text: transaction.baseHash)
            writer.append(sized: transaction.output)
        }
    }

    /// A write of a number, a time and a payload.
    ///
    /// - Parameter keys: the keys of writes that were read before.
    init(
        _ id: Int64, at time: Timestamp, payload: UnsafeRawBufferPointer, keys: KeyCache
    ) throws(LarderError) {
        var reader = NodeReader(payload, keys: keys)
        try self.init(id, at: time, &reader)
        guard reader.isAtEnd else { throw NodeReader.malformed }
    }

    fileprivate init(
        _ id: Int64, at time: Timestamp, _ reader: inout NodeReader
    ) throws(LarderError) {
        guard try reader.readByte() == format else { throw NodeReader.malformed }
        let kind = Kind(rawValue: try reader.readByte())
        let path = try reader.readPath()
        switch kind {
        case .overwrite:
            self.init(id, at: time, .overwrite(path, try reader.readSizedNode()))
        case .merge:
            let count = try reader.readNumber()
            var values: [PathValue] = []
            for _ in 0..<count {
                let path = try reader.readPath()
                values.append(PathValue(path, try reader.readSizedNode()))
            }
            self.init(id, at: time, .merge(path, values))
        case .transaction:
            let flags = try reader.readByte()
            let hash = try reader.readText()
            let transaction = StoredTransaction(
                at: path, baseHash: hash, output: try reader.readSizedNode(),
                isVisible: flags & 1 != 0, wasSent: flags & 2 != 0)
            self.init(id, at: time, .transaction(transaction))
        case nil: throw NodeReader.malformed
        }
    }
}

extension RefusedWrite {
    /// The stored part of the refusal besides its time and the write's number.
    var payload: [UInt8] {
        var writer = NodeWriter()
        writer.append(byte: format)
        writer.append(signed: write.time.seconds)
        writer.append(signed: Int64(write.time.nanoseconds))
        writer.append(signed: Int64(error.code))
        writer.append(text: error.domain)
        writer.append(text: error.message)
        write.append(to: &writer)
        return writer.bytes
    }

    /// A refusal of a number, a time and a payload.
    init(_ id: Int64, at time: Timestamp, payload: UnsafeRawBufferPointer) throws(LarderError) {
        var reader = NodeReader(payload)
        guard try reader.readByte() == format else { throw NodeReader.malformed }
        let seconds = try reader.readSigned()
        guard let nanoseconds = Int32(exactly: try reader.readSigned()),
            let writeTime = Timestamp(exactSeconds: seconds, nanoseconds: nanoseconds),
            let code = Int(exactly: try reader.readSigned())
        else { throw NodeReader.malformed }
        let domain = try reader.readText()
        let message = try reader.readText()
        let error = LarderError(
            LarderError.Code(rawValue: code), message, condition: .none, domain: domain)
        self.init(try StoredWrite(id, at: writeTime, &reader), error, at: time)
        guard reader.isAtEnd else { throw NodeReader.malformed }
    }
}

extension NodeWriter {
    fileprivate mutating func append(signed number: Int64) {
        append(number: UInt64(bitPattern: number << 1 ^ number >> 63))
    }
}

extension NodeReader {
    fileprivate mutating func readSigned() throws(LarderError) -> Int64 {
        let raw = try readNumber()
        return Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1)
    }
}
