import Foundation
import LarderModel
import LarderRemote
import LarderTestSupport
import LarderWire
import SwiftProtobuf
import Testing

@Suite("Answers of watch streams in messages")
struct WatchResponseCodingTests {
    private let version = SnapshotVersion(Timestamp(seconds: 5, nanoseconds: 6000))

    @Test("All responses of a watch stream survive encoding and decoding")
    func watchResponses() throws {
        let coder = try testCoder()
        func back(_ response: WatchResponse) throws -> WatchResponse {
            try coder.decode(try sent(try coder.encode(response)))
        }
        let error = LarderError(.permissionDenied, "no")
        for kind in [
            TargetChange.Kind.none, .added, .removed(nil), .removed(error), .current, .reset,
        ] {
            let changes = [
                TargetChange(kind, targetIDs: [1, 2], resumeToken: [1, 2]),
                TargetChange(kind, resumeToken: [3], readTime: version), TargetChange(kind),
            ]
            for change in changes {
                guard case .targets(let received) = try back(.targets(change)) else {
                    Issue.record("\(change)")
                    continue
                }
                #expect(received.targetIDs == change.targetIDs)
                #expect(received.resumeToken == change.resumeToken)
                #expect(received.readTime == change.readTime)
                switch (received.kind, change.kind) {
                case (.removed(let received?), .removed(let given?)):
                    #expect(received.kind == given.kind && received.message == given.message)
                default: #expect(received.kind == change.kind)
                }
            }
        }
        let path = try DocumentPath("c/d")
        let readings = [
            DocumentReading(
                path: path, contents: .found(try Record(["a": 1]), createTime: .epoch),
                version: version),
            DocumentReading(path: path, contents: .absent, version: version),
            DocumentReading(path: path, contents: .absent, version: .none),
        ]
        for reading in readings {
            let joined: [Int32] = reading.exists ? [1, 2] : []
            let response = try back(
                .document(reading, targetIDs: joined, removedTargetIDs: [3]))
            guard case .document(let received, joined, [3]) = response else {
                Issue.record("\(response)")
                continue
            }
            #expect(received == reading)
        }
        guard case .removed(path, [4, 5]) = try back(.removed(path, removedTargetIDs: [4, 5]))
        else {
            Issue.record("a document is out of targets")
            return
        }
        for bits in [nil, BloomFilterBits(bitmap: [1, 2], padding: 3, hashCount: 4)] {
            let response = try back(.existenceFilter(targetID: 1, count: 9, unchanged: bits))
            guard case .existenceFilter(1, 9, bits) = response else {
                Issue.record("\(response)")
                continue
            }
        }
    }

    @Test("The time of a change counts only where it names no targets")
    func readTimes() throws {
        let coder = try testCoder()
        var message = Google_Firestore_V1_ListenResponse()
        message.targetChange.targetIds = [1]
        message.targetChange.readTime = .init(version)
        guard case .targets(let change) = try coder.decode(message) else {
            Issue.record("not a target change")
            return
        }
        #expect(change.readTime == .none)
    }

    @Test("A document that cannot be decoded concerns its targets only")
    func badDocuments() throws {
        func expectUnreadable(
            _ path: DocumentPath?, _ words: String, limits: MessageCoder.Limits = .init(),
            at location: SourceLocation = #_sourceLocation,
            _ set: (inout Google_Firestore_V1_Document) -> Void
        ) throws {
            var message = Google_Firestore_V1_ListenResponse()
            message.documentChange.targetIds = [2, 4]
            message.documentChange.removedTargetIds = [6]
            message.documentChange.document.name = "\(testRoot)/c/d"
            message.documentChange.document.updateTime = .init(version)
            set(&message.documentChange.document)
            let coder = MessageCoder(testDatabase, limits: limits)
            let response = try coder.decode(listenResponse: message.serializedBytes())
            guard case .unreadable(path, let error, [2, 4], [6]) = response else {
                Issue.record("\(response)", sourceLocation: location)
                return
            }
            #expect(error.kind == .internal, sourceLocation: location)
            #expect(error.message.contains(words), sourceLocation: location)
        }
        let path = try DocumentPath("c/d")
        let large = Google_Firestore_V1_Document.FieldsEntry.with {
            $0.key = "a"
            $0.value.stringValue = String(repeating: "x", count: 1 << 20)
        }
        try expectUnreadable(nil, "not the name") { $0.name = "c" }
        try expectUnreadable(path, "no update time") { $0.clearUpdateTime() }
        try expectUnreadable(path, "has no type") {
            $0.fields = [.with { $0.key = "a" }]
        }
        try expectUnreadable(path, "the limit is 1048576") { $0.fields = [large] }
        let limits = MessageCoder.Limits.responses
        try expectUnreadable(path, "the limit is 16777216", limits: limits) { document in
            document.fields = (0..<16).map { number in
                var field = large
                field.key = "\(number)"
                return field
            }
        }
    }

    @Test("Malformed answers are the backend's fault")
    func badResponses() throws {
        let coder = try testCoder()
        func refuse(
            _ words: String, at location: SourceLocation = #_sourceLocation,
            _ set: (inout Google_Firestore_V1_ListenResponse) -> Void
        ) {
            var message = Google_Firestore_V1_ListenResponse()
            set(&message)
            expectError(.internal, words, { _ = try coder.decode(message) }, at: location)
        }
        refuse("of an unknown kind") { _ in }
        refuse("unknown kind 9") { $0.targetChange.targetChangeType = .UNRECOGNIZED(9) }
        refuse("out of the years") { $0.targetChange.readTime.nanos = -1 }
        refuse("bytes") { $0.targetChange.resumeToken = Data(count: 65_537) }
        refuse("not the name") { $0.documentChange = .init() }
        refuse("no update time") { $0.documentChange.document.name = "\(testRoot)/c/d" }
        refuse("not the name") { $0.documentDelete = .init() }
        refuse("not the name") { $0.documentRemove.document = "c" }
        refuse("-1 documents") { $0.filter.count = -1 }
    }
}
