/// The contents of a batch of pending writes: the application's mutations, and base values of their
/// increments.
package struct MutationPayload: Sendable, Equatable {
    /// Patches that are applied before the mutations whenever the batch is applied, and that are
    /// never sent; see ``Mutation/base(over:using:)``.
    package let baseMutations: [Mutation]
    /// The application's mutations, in order.
    package let mutations: [Mutation]

    package init(baseMutations: [Mutation] = [], mutations: [Mutation]) {
        self.baseMutations = baseMutations
        self.mutations = mutations
    }
}

// MARK: - Coding

/// The encoded batch in the store's queue.
///
///     payload      format (1 byte, 1) | count | base mutation ... | count | mutation ...
///     mutation     head (1 byte) | document path | time if its precondition has one |
///                  record if it is a set or patch | mask if it is a patch |
///                  count | transform ... if it has any
///     head         bits 0-1  0 set, 1 patch, 2 delete, 3 verify
///                  bits 2-3  precondition: 0 none, 1 exists, 2 does not exist, 3 update time
///                  bit 4     transforms follow
///                  bits 5-7  0
///     transform    kind (1 byte: 1 server time, 2 union, 3 removal, 4 increment, 5 minimum,
///                  6 maximum) | field path | for 2 and 3 count | value ..., for 4 to 6 value
///
/// Counts and sizes are varints; paths, records and values are preceded by their size. A record
/// consists of its plain bytes, so that nothing is encoded or decoded again between queue, overlay
/// and backend. A time has 8 bytes of seconds and 4 of nanoseconds, little-endian. Unknown formats,
/// kinds and bits are errors, so that later versions can use them.
extension MutationPayload {
    private static let format: UInt8 = 1

    package func bytes(using builder: RecordBuilder) throws(LarderError) -> [UInt8] {
        var size = 16
        for mutation in mutations { size += 64 + (mutation.record?.byteCount ?? 0) }
        var writer = PayloadWriter(capacity: size)
        writer.byte(Self.format)
        for list in [baseMutations, mutations] {
            writer.count(list.count)
            for mutation in list { try mutation.write(to: &writer, builder) }
        }
        return writer.bytes
    }

    /// - Throws: `dataLoss` for malformed bytes.
    package init(_ bytes: [UInt8]) throws(LarderError) {
        let result: Result<MutationPayload, LarderError> = bytes.withUnsafeBytes { bytes in
            Result { () throws(LarderError) in
                var reader = PayloadReader(bytes)
                return try MutationPayload(from: &reader)
            }
        }
        self = try result.get()
    }

    private init(from reader: inout PayloadReader) throws(LarderError) {
        guard try reader.byte() == Self.format else {
            throw PayloadReader.damage("an unknown format")
        }
        let bases = try Self.mutations(from: &reader)
        self.init(baseMutations: bases, mutations: try Self.mutations(from: &reader))
        try reader.finish()
    }

    private static func mutations(from reader: inout PayloadReader)
        throws(LarderError) -> [Mutation]
    {
        try (0..<reader.count()).map { _ throws(LarderError) in try Mutation(from: &reader) }
    }
}

extension Mutation {
    private static let hasTransforms: UInt8 = 0x10

    fileprivate func write(to writer: inout PayloadWriter, _ builder: RecordBuilder)
        throws(LarderError)
    {
        let kind: UInt8 =
            switch operation {
            case .set: 0
            case .patch: 1
            case .delete: 2
            case .verify: 3
            }
        let condition: UInt8 =
            switch precondition {
            case .none: 0
            case .exists(true): 1
            case .exists(false): 2
            case .updateTime: 3
            }
        writer.byte(kind | condition << 2 | (transforms.isEmpty ? 0 : Self.hasTransforms))
        writer.text(path.string)
        if case .updateTime(let version) = precondition { writer.time(version.timestamp) }
        if let record { try writer.record(record) }
        if case .patch(_, let mask) = operation { writer.mask(mask) }
        guard !transforms.isEmpty else { return }
        writer.count(transforms.count)
        for transform in transforms { try transform.write(to: &writer, builder) }
    }

    fileprivate init(from reader: inout PayloadReader) throws(LarderError) {
        let head = try reader.byte()
        guard head < 0x20 else { throw PayloadReader.damage("an unknown kind of mutation") }
        let path = try reader.documentPath()
        let precondition: Precondition =
            switch head >> 2 & 3 {
            case 0: .none
            case 1: .exists(true)
            case 2: .exists(false)
            default: .updateTime(SnapshotVersion(try reader.time()))
            }
        let operation: Operation =
            switch head & 3 {
            case 0: .set(try reader.record())
            case 1: .patch(try reader.record(), try reader.mask())
            case 2: .delete
            default: .verify
            }
        var transforms: [FieldTransform] = []
        if head & Self.hasTransforms != 0 {
            let count = try reader.count()
            for _ in 0..<count { transforms.append(try FieldTransform(from: &reader)) }
        }
        self.init(operation, at: path, precondition: precondition, transforms: transforms)
    }

    package var record: Record? {
        switch operation {
        case .set(let record), .patch(let record, _): record
        case .delete, .verify: nil
        }
    }
}

extension FieldTransform {
    fileprivate func write(to writer: inout PayloadWriter, _ builder: RecordBuilder)
        throws(LarderError)
    {
        let (kind, operands): (UInt8, [Value]) =
            switch operation {
            case .serverTimestamp: (1, [])
            case .arrayUnion(let elements): (2, elements)
            case .arrayRemove(let elements): (3, elements)
            case .increment(let operand): (4, [operand])
            case .minimum(let operand): (5, [operand])
            case .maximum(let operand): (6, [operand])
            }
        writer.byte(kind)
        writer.path(path)
        if kind == 2 || kind == 3 { writer.count(operands.count) }
        for operand in operands { try writer.value(operand, builder) }
    }

    fileprivate init(from reader: inout PayloadReader) throws(LarderError) {
        let kind = try reader.byte()
        let path = try reader.path()
        let operation: Operation
        switch kind {
        case 1: operation = .serverTimestamp
        case 2, 3:
            var elements: [Value] = []
            let count = try reader.count()
            for _ in 0..<count { elements.append(try reader.value()) }
            operation = kind == 2 ? .arrayUnion(elements) : .arrayRemove(elements)
        case 4: operation = .increment(try reader.value())
        case 5: operation = .minimum(try reader.value())
        case 6: operation = .maximum(try reader.value())
        default: throw PayloadReader.damage("an unknown kind of transform")
        }
        self.init(path, operation)
    }
}
