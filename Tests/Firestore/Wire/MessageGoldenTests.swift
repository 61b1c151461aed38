import Foundation
import GRPCCore
import LarderWire
import SwiftProtobuf
import Testing

/// Numbers, types and names of fields, against samples of Google's own client's messages, which
/// `Golden/make.py` wrote.
@Suite("Messages on the wire")
struct MessageGoldenTests {
    private struct Sample {
        let name: String
        let bytes: [UInt8]
        let text: String
    }

    private static func samples() throws -> [Sample] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Golden/messages.txt")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n\n").map {
            let lines = $0.split(separator: "\n", omittingEmptySubsequences: false)
            try #require(lines.count == 3)
            let hex = Array(lines[1].utf8)
            let bytes = try stride(from: 0, to: hex.count, by: 2).map {
                try #require(UInt8(String(decoding: hex[$0..<$0 + 2], as: UTF8.self), radix: 16))
            }
            return Sample(name: String(lines[0]), bytes: bytes, text: String(lines[2]))
        }
    }

    private func bytes(_ message: some Message) throws -> [UInt8] {
        try message.serializedBytes()
    }

    private static let types = Dictionary(
        uniqueKeysWithValues: messageTypes.map { ($0.protoMessageName, $0) })

    @Test("Each sample is read without rest, with the same names, and written back the same")
    func samples() throws {
        let samples = try Self.samples()
        #expect(samples.count > 100)
        for sample in samples {
            let type = try #require(Self.types[sample.name], "\(sample.name)")
            let message = try type.init(serializedBytes: sample.bytes)
            #expect(try message.serializedBytes() as [UInt8] == sample.bytes, "\(sample.name)")
            #expect(message.unknownFields.data.isEmpty, "\(sample.name)")
            // Any has a text of its own.
            guard sample.name != Google_Rpc_Status.protoMessageName else { continue }
            // Lists of numbers are in brackets here.
            let words = message.textFormatString().filter { !"[]".contains($0) }
                .split(whereSeparator: \.isWhitespace)
            #expect(words.joined(separator: " ") == sample.text, "\(sample.name)")
        }
    }

    @Test("Every message but one has a sample")
    func completeness() throws {
        let sampled = Set(try Self.samples().map(\.name))
        let missing = Set(Self.types.keys).subtracting(sampled)
        #expect(missing == [Google_Rpc_ErrorInfo.protoMessageName])
    }

    @Test("Fields that Google's files do not have, or text does not show, have their numbers")
    func byHand() throws {
        // A tag is a field's number, shifted by 3, and 2 for what has a length.
        var write = Google_Firestore_V1_Write()
        write.verify = "n"
        #expect(try bytes(write) == [0x2a, 1, 0x6e])
        var status = Google_Rpc_Status()
        status.code = 7
        status.message = "m"
        #expect(try bytes(status) == [0x08, 7, 0x12, 1, 0x6d])
        var info = Google_Rpc_ErrorInfo()
        info.reason = "r"
        info.domain = "d"
        info.metadata = ["k": "v"]
        let expected: [UInt8] = [
            0x0a, 1, 0x72, 0x12, 1, 0x64, 0x1a, 6, 0x0a, 1, 0x6b, 0x12, 1, 0x76,
        ]
        #expect(try bytes(info) == expected)
    }

    @Test("The service and its methods have their names")
    func service() {
        let service = Google_Firestore_V1_Firestore.descriptor
        #expect(service.fullyQualifiedService == "google.firestore.v1.Firestore")
        #expect(
            Set(Google_Firestore_V1_Firestore.Method.descriptors.map(\.method)) == [
                "GetDocument", "ListDocuments", "CreateDocument", "UpdateDocument",
                "DeleteDocument", "BatchGetDocuments", "BeginTransaction", "Commit", "Rollback",
                "RunQuery", "RunAggregationQuery", "PartitionQuery", "Write", "Listen",
                "ListCollectionIds", "BatchWrite",
            ])
    }
}
