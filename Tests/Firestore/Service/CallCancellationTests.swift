import Dispatch
import GRPCCore
import LarderHTTP
import LarderModel
import LarderTestSupport
import LarderWire
import SwiftProtobuf
import Testing

@testable import LarderServer

@Suite("Calls whose client has left")
struct CallCancellationTests {
    /// The code that a call fails with after its client has left.
    private func codeOfEndedCall(_ call: () async throws -> Void) async -> LarderError.Code? {
        await withServerContextRPCCancellationHandle { handle in
            handle.cancel()
            return await asyncCode(call)
        }
    }

    @Test("work of an ended call is skipped")
    func ended() async throws {
        let pool = WorkPool("test", limit: 1)
        let isDone = Box(false)
        let gate = DispatchSemaphore(value: 0)
        pool.perform { gate.wait() }
        let ended = await withServerContextRPCCancellationHandle { handle in
            async let code = asyncCode {
                try await pool.runInCall { () throws(LarderError) in isDone.withLock { $0 = true } }
            }
            handle.cancel()
            gate.signal()
            return await code
        }
        #expect(ended == .cancelled && !isDone.withLock { $0 })
    }

    @Test("a query ends with its call")
    func endedQuery() async throws {
        // So that the query waits for who takes what it finds.
        let test = ServiceUnderTest { $0.bytesAhead = 1 }
        try await test.fill("c", 0..<3)
        let request = Google_Firestore_V1_RunQueryRequest.with {
            $0.parent = test.root
            $0.structuredQuery.from = [.with { $0.collectionID = "c" }]
        }
        let code = await codeOfEndedCall {
            try await test.service.runQuery(request, RPCWriter(wrapping: Nowhere()))
        }
        #expect(code == .cancelled)
    }

    @Test("a batch of reads ends with its call")
    func endedBatch() async throws {
        let test = ServiceUnderTest { $0.bytesAhead = 1 }
        try await test.fill("c", 0..<9)
        let request = Google_Firestore_V1_BatchGetDocumentsRequest.with {
            $0.database = "projects/p/databases/(default)"
            $0.documents = (0..<9).map { "\(test.root)/c/000\($0)" }
        }
        let code = await codeOfEndedCall {
            try await test.service.batchGetDocuments(request, RPCWriter(wrapping: Nowhere()))
        }
        #expect(code == .cancelled)
    }
}
