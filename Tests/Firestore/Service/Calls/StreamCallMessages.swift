import Foundation
import LarderBackend
import LarderModel
import LarderWire
import NIOCore
import NIOEmbedded
import NIOHTTP2
import SwiftProtobuf

@testable import LarderServer

extension StreamCallTests {
    func target(
        _ id: Int32 = 1, documents: [String] = [], fields: [String]? = nil, isOnce: Bool = false
    ) throws -> [UInt8] {
        try TestConnection.framed(
            Google_Firestore_V1_ListenRequest.with {
                $0.database = "projects/p/databases/(default)"
                $0.addTarget.targetID = id
                $0.addTarget.once = isOnce
                if documents.isEmpty {
                    $0.addTarget.query.parent = test.root
                    $0.addTarget.query.structuredQuery.from = [.with { $0.collectionID = "c" }]
                    if let fields {
                        $0.addTarget.query.structuredQuery.select.fields = fields.map { name in
                            .with { $0.fieldPath = name }
                        }
                    }
                } else {
                    $0.addTarget.documents.documents = documents.map { "\(test.root)/c/\($0)" }
                }
            })
    }

    func handshake() throws -> [UInt8] {
        try TestConnection.framed(
            Google_Firestore_V1_WriteRequest.with {
                $0.database = "projects/p/databases/(default)"
            })
    }

    func write(_ number: Int, exists: Bool? = nil) throws -> [UInt8] {
        try TestConnection.framed(
            Google_Firestore_V1_WriteRequest.with {
                // That of the handshake.
                $0.streamToken = Data("1".utf8)
                $0.writes = [
                    .with {
                        $0.update.name = number < 0 ? "nothing" : "\(test.root)/c/\(number)"
                        $0.update.fields = [
                            .with {
                                $0.key = "x"
                                $0.value.booleanValue = true
                            }
                        ]
                        if let exists { $0.currentDocument.exists = exists }
                    }
                ]
            })
    }

    /// Makes a document, and waits until its listeners have received it.
    func make(_ number: Int, bytes: Int, _ client: TestConnection) async throws {
        let database = try await test.service.database(test.root)
        for id in ["c/\(number)", "none/1"] {
            let text = String(repeating: "x", count: bytes)
            // A later event on the loop follows the delivery of the commit.
            _ = try await database.commit([
                Mutation(.set(try Record(["x": .string(text)])), at: try DocumentPath(id))
            ])
        }
        await client.loop.run()
    }

    /// The next messages of a stream.
    func responses<M: Message>(
        _ client: TestConnection, until isLast: (M) -> Bool
    ) async throws -> [M] {
        var responses: [M] = []
        while true {
            guard case .data(let data) = try await client.next(),
                case .byteBuffer(let bytes) = data.data
            else { continue }
            responses += try TestConnection.messages(bytes).map { try M(serializedBytes: $0) }
            if responses.contains(where: isLast) { return responses }
        }
    }

    /// Waits for the first snapshot of a target.
    func untilCurrent(_ client: TestConnection) async throws {
        let _: [Google_Firestore_V1_ListenResponse] = try await responses(client) {
            $0.targetChange.hasReadTime
        }
    }
}
