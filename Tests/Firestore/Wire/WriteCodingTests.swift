import LarderModel
import LarderRemote
import LarderTestSupport
import LarderWire
import SwiftProtobuf
import Testing

@Suite("Writes and their results in messages")
struct WriteCodingTests {
    private let version = SnapshotVersion(Timestamp(seconds: 5, nanoseconds: 6000))

    /// The message of a write, from a closure that sets its fields.
    private func write(
        _ set: (inout Google_Firestore_V1_Write) throws -> Void
    ) rethrows -> Google_Firestore_V1_Write {
        var write = Google_Firestore_V1_Write()
        try set(&write)
        return write
    }

    @Test("Mutations do the same after they were sent")
    func roundTrip() throws {
        var random = SeededRandom()
        let coder = try testCoder()
        let versions = [version, SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0))]
        var count = 0
        while count < 1_000 {
            let mutation = try random.mutation(at: try DocumentPath("c/d"), versions: versions)
            // Some of these exist locally only.
            guard let message = try? coder.encode(mutation) else { continue }
            count += 1
            let back = try coder.decode(try sent(message))
            #expect(back.path == mutation.path)
            #expect(back.precondition == mutation.precondition)
            #expect(back.transforms == mutation.transforms.map(\.asSent), "\(random)")
            switch (mutation.operation, back.operation) {
            case (.set(let record), .set(let received)):
                #expect(received.fields == record.fields.asSent, "\(random)")
            case (.patch(let record, let mask), .patch(let received, let receivedMask)):
                #expect(receivedMask == mask)
                for path in mask.paths {
                    #expect(received[path] == record[path]?.asSent, "\(random)")
                }
            case (.delete, .delete): break
            default: Issue.record("\(mutation) became \(back); \(random)")
            }
            let again = try coder.encode(back)
            let twice = try coder.encode(try coder.decode(again))
            // Not by messages, for which NaN is not NaN.
            let (bytes, expected): ([UInt8], [UInt8]) =
                (try twice.serializedBytes(), try again.serializedBytes())
            #expect(bytes == expected, "\(random)")
        }
    }

    @Test("A patch sends only the fields in its mask")
    func patches() throws {
        let coder = try testCoder()
        let record = try Record(["a": 1, "b": 2, "m": .map(["x": 1, "y": 2])])
        let mask = FieldMask([try FieldPath("a"), try FieldPath("m", "x"), try FieldPath("gone")])
        let message = try coder.encode(
            Mutation(.patch(record, mask), at: try DocumentPath("c/d")))
        #expect(message.updateMask.fieldPaths == ["a", "gone", "m.x"])
        #expect(
            try coder.decode(message.update).record.fields == ["a": 1, "m": .map(["x": 1])])
    }

    @Test("An update with an empty mask is a patch, without a mask a set")
    func emptyMask() throws {
        let coder = try testCoder()
        let path = try DocumentPath("c/d")
        var message = write { $0.update.name = "\(testRoot)/c/d" }
        #expect(try coder.decode(message) == Mutation(.set(try Record([:])), at: path))
        message.updateMask = .init()
        let patch = Mutation(.patch(try Record([:]), FieldMask([])), at: path)
        #expect(try coder.decode(try sent(message)) == patch)
        #expect(try coder.encode(patch).hasUpdateMask)
    }

    @Test("Deletes, verifies and transforms alone")
    func operations() throws {
        let coder = try testCoder()
        let path = try DocumentPath("c/d")
        for operation in [Mutation.Operation.delete, .verify] {
            let mutation = Mutation(operation, at: path, precondition: .updateTime(version))
            #expect(try coder.decode(try sent(try coder.encode(mutation))) == mutation)
        }
        var transform = Google_Firestore_V1_DocumentTransform()
        transform.document = "\(testRoot)/c/d"
        transform.fieldTransforms = [.init()]
        transform.fieldTransforms[0].fieldPath = "a.b"
        transform.fieldTransforms[0].setToServerValue = .requestTime
        let mutation = Mutation(
            .patch(try Record([:]), FieldMask([])), at: path, precondition: .exists(true),
            transforms: [FieldTransform(try FieldPath("a", "b"), .serverTimestamp)])
        let message = write {
            $0.transform = transform
            $0.currentDocument.exists = true
        }
        #expect(try coder.decode(try sent(message)) == mutation)
    }

    @Test("Writes that break a rule are refused, with the reason")
    func bounds() throws {
        let coder = try testCoder()
        func refuse(
            _ words: String, at location: SourceLocation = #_sourceLocation,
            _ set: (inout Google_Firestore_V1_Write) -> Void
        ) {
            let message = write(set)
            expectError(.invalidArgument, words, { _ = try coder.decode(message) }, at: location)
        }
        let name = "\(testRoot)/c/d"
        refuse("no operation") { _ in }
        refuse("not the name") { $0.update = .init() }
        refuse("not the name") { $0.delete = "c/d" }
        refuse("not the name") { $0.verify = "projects/p/databases/e/documents/c/d" }
        refuse("not the name") { $0.transform.document = "c" }
        refuse("only an update") {
            $0.delete = name
            $0.updateMask = .init()
        }
        refuse("only an update") {
            $0.verify = name
            $0.updateTransforms = [.init()]
        }
        refuse("not a valid field path") {
            $0.update.name = name
            $0.updateMask.fieldPaths = ["a b"]
        }
        func refuseTransform(
            _ words: String, at location: SourceLocation = #_sourceLocation,
            _ set: (inout Google_Firestore_V1_DocumentTransform.FieldTransform) -> Void
        ) {
            refuse(words, at: location) {
                $0.update.name = name
                $0.updateTransforms = [.init()]
                $0.updateTransforms[0].fieldPath = "a"
                set(&$0.updateTransforms[0])
            }
        }
        refuseTransform("has no operation") { _ in }
        refuseTransform("an unknown server value") { $0.setToServerValue = .unspecified }
        refuseTransform("an unknown server value") { $0.setToServerValue = .UNRECOGNIZED(7) }
        refuseTransform("not a number") { $0.increment = message { $0.stringValue = "1" } }
        refuseTransform("not a number") { $0.maximum = .init() }
        refuseTransform("not a number") { $0.minimum = message { $0.arrayValue = .init() } }
        refuseTransform("no type") { $0.appendMissingElements.values = [.init()] }
        refuseTransform("not a valid field path") { $0.fieldPath = "" }
    }

    @Test("Results come back as they were; deletes have no time of their own")
    func results() throws {
        let coder = try testCoder()
        let path = try DocumentPath("c/d")
        let earlier = SnapshotVersion(Timestamp(seconds: 4, nanoseconds: 0))
        let mutations = [
            Mutation(.set(try Record([:])), at: path), Mutation(.delete, at: path),
            Mutation(.set(try Record([:])), at: path),
        ]
        let response = CommitResponse(
            commitVersion: version,
            results: [
                MutationResult(version: version, transformResults: [.null, 3]),
                MutationResult(version: version),
                MutationResult(version: earlier),
            ])
        let message = try sent(try coder.encode(response, of: mutations))
        #expect(message.writeResults.map(\.hasUpdateTime) == [true, false, true])
        #expect(try coder.decode(message) == response)
        expectError(.internal, "the commit time is missing") {
            _ = try coder.decode(Google_Firestore_V1_CommitResponse())
        }
        var late = message
        late.writeResults[0].updateTime.seconds = .max
        expectError(.internal, "out of the years") { _ = try coder.decode(late) }
    }

    @Test("Requests for commits")
    func commits() throws {
        let coder = try testCoder()
        let mutations = [
            Mutation(.set(try Record(["a": 1])), at: try DocumentPath("c/d")),
            Mutation(.delete, at: try DocumentPath("c/e")),
        ]
        var request = try sent(try coder.encode(committing: mutations))
        #expect(request.database == "projects/p/databases/d")
        #expect(try coder.decode(request) == mutations)
        request.database = "projects/q/databases/d"
        expectError(.invalidArgument, "database") { _ = try coder.decode(request) }
    }
}

extension FieldTransform {
    /// The transform as it is after it was sent.
    fileprivate var asSent: FieldTransform {
        switch operation {
        case .arrayUnion(let values): FieldTransform(path, .arrayUnion(values.map(\.asSent)))
        case .arrayRemove(let values): FieldTransform(path, .arrayRemove(values.map(\.asSent)))
        default: self
        }
    }
}
