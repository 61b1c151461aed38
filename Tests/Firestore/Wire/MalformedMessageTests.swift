import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import LarderWire
import SwiftProtobuf
import Testing

/// Whatever bytes come, there is a message and a value of it, or an error.
@Suite("Malformed messages")
struct MalformedMessageTests {
    /// Reads bytes as a message of a type and, where they are one, decodes it.
    private func read(_ bytes: [UInt8], as type: any Message.Type, _ coder: MessageCoder) {
        guard let message = try? type.init(serializedBytes: bytes) else { return }
        do {
            switch message {
            case let message as Google_Firestore_V1_Value: _ = try coder.decode(message)
            case let message as Google_Firestore_V1_Document:
                _ = try coder.decode(message)
            case let message as Google_Firestore_V1_DocumentMask: _ = try coder.decode(message)
            case let message as Google_Firestore_V1_Precondition: _ = try coder.decode(message)
            case let message as Google_Firestore_V1_Write: _ = try coder.decode(message)
            case let message as Google_Firestore_V1_CommitRequest: _ = try coder.decode(message)
            case let message as Google_Firestore_V1_CommitResponse: _ = try coder.decode(message)
            case let message as Google_Firestore_V1_BatchGetDocumentsRequest:
                _ = try coder.decode(message)
            case let message as Google_Firestore_V1_BatchGetDocumentsResponse:
                _ = try coder.decode(message)
            case let message as Google_Firestore_V1_TransactionOptions:
                _ = try coder.decode(message)
            case let message as Google_Firestore_V1_StructuredQuery:
                _ = try coder.decode(message, below: testRoot)
            case let message as Google_Firestore_V1_RunQueryRequest: _ = try coder.decode(message)
            case let message as Google_Firestore_V1_RunAggregationQueryRequest:
                _ = try coder.decode(message)
            case let message as Google_Firestore_V1_RunAggregationQueryResponse:
                _ = try coder.decode(message, count: 2)
            case let message as Google_Firestore_V1_ListenRequest: _ = try coder.decode(message)
            case let message as Google_Firestore_V1_ListenResponse: _ = try coder.decode(message)
            case let message as Google_Firestore_V1_WriteRequest:
                _ = try coder.decode(message, isFirst: bytes.count.isMultiple(of: 2))
            case let message as Google_Firestore_V1_WriteResponse:
                _ = try coder.decode(message, isFirst: bytes.count.isMultiple(of: 2))
            case let message as Google_Rpc_Status: _ = LarderError(message)
            default: break
            }
        } catch {
            let kinds: [LarderError.Code] = [.invalidArgument, .unimplemented, .internal]
            #expect(kinds.contains(error.kind), "\(error)")
        }
    }

    @Test("Random bytes")
    func randomBytes() throws {
        var random = SeededRandom()
        let coder = try testCoder()
        for _ in 0..<5_000 {
            let bytes = (0..<random.below(40)).map { _ -> UInt8 in
                // Small numbers are often a field's tag or a length.
                random.oneIn(2) ? UInt8(random.below(32)) : UInt8(random.below(256))
            }
            read(bytes, as: random.pick(messageTypes), coder)
        }
    }

    @Test("Messages in which some bytes were changed, lost or doubled")
    func mutated() throws {
        var random = SeededRandom()
        let coder = try testCoder()
        let samples = try Self.samples(&random, coder)
        for (type, bytes) in samples { read(bytes, as: type, coder) }
        for _ in 0..<10_000 {
            var (type, bytes) = random.pick(samples)
            for _ in 0...random.below(3) where !bytes.isEmpty {
                let position = random.below(bytes.count)
                switch random.below(4) {
                case 0: bytes[position] ^= 1 << UInt8(random.below(8))
                case 1: bytes[position] = UInt8(random.below(256))
                case 2: bytes.removeSubrange(position..<min(bytes.count, position + 3))
                default:
                    bytes.insert(
                        contentsOf: bytes[position..<min(bytes.count, position + 8)], at: position)
                }
            }
            if random.oneIn(20) { type = random.pick(messageTypes) }
            read(bytes, as: type, coder)
        }
    }

    /// Messages of every kind with something in them.
    private static func samples(_ random: inout SeededRandom, _ coder: MessageCoder) throws
        -> [(any Message.Type, [UInt8])]
    {
        var samples: [(any Message.Type, [UInt8])] = []
        func add<M: Message>(_ message: M) throws {
            samples.append((M.self, try message.serializedBytes()))
        }
        for _ in 0..<20 {
            let path = try DocumentPath("c/d")
            let record = try Record(random.sendableFields())
            let document = try coder.encode(record, at: path, updateTime: .init(.epoch))
            try add(document)
            try add(try coder.encode(random.sendable()))
            let mutations = (0..<3).compactMap { _ in
                try? random.mutation(at: path, versions: [.none])
            }.filter { (try? coder.encode($0)) != nil }
            try add(try coder.encode(committing: mutations))
            try add(try coder.encode(.write(mutations, streamToken: [1])))
            var change = Google_Firestore_V1_ListenResponse()
            change.documentChange.document = document
            change.documentChange.document.updateTime.seconds = 1
            change.documentChange.targetIds = [1, 2]
            try add(change)
        }
        let fields = try ["a", "b", "m.x", "tags"].map { try FieldPath(dotted: $0) }
        let names = [Value.reference(ResourceName("\(testRoot)/c/x"))]
        for _ in 0..<40 {
            let query = random.planningQuery(fields, [try CollectionPath("c")], names: names)
            guard let request = try? coder.encode(running: QuerySelection(query)) else { continue }
            try add(request)
            try add(request.structuredQuery)
            try add(try coder.encode([.count, .sum(fields[0])], over: query.target))
            var target = Google_Firestore_V1_ListenRequest()
            target.addTarget.targetID = 1
            target.addTarget.query.parent = testRoot
            target.addTarget.query.structuredQuery = request.structuredQuery
            try add(target)
        }
        try add(Google_Rpc_Status(LarderError(.notFound, "m", condition: .noStore)))
        return samples
    }
}
