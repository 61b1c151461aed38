import LarderModel
import LarderRemote
import LarderTestSupport
import SwiftProtobuf
import Testing

@testable import LarderWire

/// What is read straight from bytes is what the message of them says.
@Suite("Bytes of documents on Listen streams")
struct DocumentBytesTests {
    private let coder: MessageCoder

    init() throws {
        coder = try testCoder()
    }

    /// What bytes tell by way of their message; nil where that is an error.
    private func told(_ bytes: [UInt8]) -> String? {
        guard let message = try? Google_Firestore_V1_ListenResponse(serializedBytes: bytes),
            let response = try? coder.decode(message)
        else { return nil }
        return describe(response)
    }

    private func describe(_ response: WatchResponse) -> String {
        guard case .document(let reading, let added, let removed) = response,
            case .found(let record, let createTime) = reading.contents
        else { return "\(response)" }
        let fields = (try? record.withEncodedBytes { "\([UInt8]($0))" }) ?? "?"
        let times = "\(reading.version) \(createTime.map { "\($0)" } ?? "-")"
        return "\(reading.path) \(times) \(added) \(removed) \(fields)"
    }

    private func change(_ random: inout SeededRandom) throws
        -> Google_Firestore_V1_ListenResponse
    {
        var message = Google_Firestore_V1_ListenResponse()
        message.documentChange.document = try coder.encode(
            try Record(random.sendableFields()),
            at: try DocumentPath("c/é\(random.below(100))/d/x"),
            createTime: random.oneIn(2) ? nil : Timestamp(seconds: -7, nanoseconds: 1_000),
            updateTime: SnapshotVersion(Timestamp(seconds: 1_700_000_000, nanoseconds: 5_000)))
        message.documentChange.targetIds = (0..<random.below(3)).map { Int32($0) * -70_000 }
        message.documentChange.removedTargetIds = (0..<random.below(3)).map { Int32($0) * 300 }
        return message
    }

    @Test("Whatever the documents are, their messages say the same")
    func randomDocuments() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            let bytes: [UInt8] = try change(&random).serializedBytes()
            let expected = try #require(told(bytes), "\(random)")
            #expect(describe(try coder.decode(listenResponse: bytes)) == expected, "\(random)")
        }
    }

    @Test("Nearly all are read without their messages")
    func areReadPlainly() throws {
        var random = SeededRandom()
        var plain = 0
        for _ in 0..<200 {
            let bytes: [UInt8] = try change(&random).serializedBytes()
            if coder.plain(listenResponse: bytes) != nil { plain += 1 }
        }
        // Vectors are not, and some of the documents have one.
        #expect(plain > 100, "\(random)")
    }

    @Test("Malformed documents are decoded like their message, or refused")
    func mutated() throws {
        var random = SeededRandom()
        var (read, refused) = (0, 0)
        for _ in 0..<400 {
            let sound: [UInt8] = try change(&random).serializedBytes()
            for _ in 0..<25 {
                let bytes = random.damaged(sound)
                let actual = try? coder.decode(listenResponse: bytes)
                #expect(actual.map(describe) == told(bytes), "\(random): \(bytes)")
                if actual == nil { refused += 1 } else { read += 1 }
            }
        }
        #expect(read > 100 && refused > 100)
    }

    @Test(
        "Repeated, reordered and unknown fields are left to the message",
        arguments: [
            // Nothing; an unknown field; one after a document.
            [], [0x78, 1], [0x1a, 0, 0x78, 1],
            // A change without a document, one with an empty document.
            [0x1a, 0], [0x1a, 2, 0x0a, 0],
        ] as [[UInt8]])
    func unusual(bytes: [UInt8]) {
        #expect(coder.plain(listenResponse: bytes) == nil)
        #expect((try? coder.decode(listenResponse: bytes)).map(describe) == told(bytes))
    }

    @Test("A map is a vector also where its name's length takes more bytes than it needs")
    func vector() throws {
        let type = [0x0a, 0x88, 0x00] + Array("__type__".utf8)
        let text: [UInt8] = [0x12, 13, 0x8a, 1, 10] + Array("__vector__".utf8)
        let components: [UInt8] = [0x0a, 5] + Array("value".utf8) + [0x12, 2, 0x4a, 0]
        let map = embedded(0x0a, type + text) + embedded(0x0a, components)
        let entry = [0x0a, 1, UInt8(ascii: "v")] + embedded(0x12, embedded(0x32, map))
        let document =
            embedded(0x0a, Array("\(testRoot)/c/d".utf8)) + embedded(0x12, entry)
            + embedded(0x22, [0x08, 1])
        let bytes = embedded(0x1a, embedded(0x0a, document))
        let expected = try #require(told(bytes))
        #expect(describe(try coder.decode(listenResponse: bytes)) == expected)
    }

    /// A field that is a message of up to 127 bytes.
    private func embedded(_ field: UInt8, _ bytes: [UInt8]) -> [UInt8] {
        [field, UInt8(bytes.count)] + bytes
    }

    @Test("a malformed response is reported as the backend's fault")
    func refusal() throws {
        expectError(.internal, "is malformed") {
            _ = try coder.decode(listenResponse: [0x1a, 5, 1])
        }
        expectError(.internal, "is malformed") {
            _ = try ResponseDeserializer<Google_Firestore_V1_WriteResponse>().deserialize(
                [0x0a, 9, 1] as [UInt8])
        }
        var message = Google_Firestore_V1_ListenResponse()
        message.documentChange.document.name = "\(testRoot)/c/d"
        message.documentChange.document.updateTime.seconds = .max
        expectError(.internal, "is malformed") {
            _ = try coder.decode(listenResponse: try message.serializedBytes())
        }
    }
}
