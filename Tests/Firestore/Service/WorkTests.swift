import Dispatch
import GRPCCore
import LarderModel
import LarderWire
import SwiftProtobuf
import Synchronization
import Testing

@testable import LarderServer

@Suite("Server: threads that may block")
struct WorkTests {
    @Test("No more pieces of work run at a time than the limit says, and all of them do")
    func limit() async throws {
        let pool = WorkPool("test", limit: 3)
        let state = Box((running: 0, most: 0, done: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<500 {
                group.addTask {
                    try await pool.run { () throws(LarderError) in
                        state.withLock {
                            $0.running += 1
                            $0.most = max($0.most, $0.running)
                        }
                        state.withLock {
                            $0.running -= 1
                            $0.done += 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        state.withLock { #expect($0.most <= 3 && $0.done == 500) }
    }

    @Test("One thread does its work in order")
    func order() async throws {
        let pool = WorkPool("test", limit: 1)
        let seen = Box<[Int]>([])
        for number in 0..<3_000 { pool.perform { seen.withLock { $0.append(number) } } }
        try await pool.run { () throws(LarderError) in }
        #expect(seen.withLock { $0 } == Array(0..<3_000))
    }

    @Test("What a reader gives is taken whole and in order, whatever the room")
    func pump() async throws {
        let pump = Pump<Int>(maxBytes: 10, patience: .seconds(600))
        let pool = WorkPool("test", limit: 1)
        pool.perform {
            pump.finish(
                Result { () throws(LarderError) in
                    for number in 0..<1_000 { try pump.give(number, bytes: 4) }
                })
        }
        var taken: [Int] = []
        while let numbers = try await pump.take() {
            #expect(numbers.count <= 2)
            taken += numbers
        }
        #expect(taken == Array(0..<1_000))
    }

    @Test("Something larger than the room passes alone")
    func large() async throws {
        let pump = Pump<Int>(maxBytes: 10, patience: .zero)
        try pump.give(1, bytes: 1_000)
        let stalled: LarderError.Code? = code { () throws in try pump.give(2, bytes: 1) }
        #expect(stalled == .deadlineExceeded)
        #expect(try await pump.take() == [1])
    }

    @Test("A reader does not wait for a client that has left")
    func left() {
        let pump = Pump<Int>(maxBytes: 1, patience: .seconds(600))
        pump.cancel()
        #expect(code { try pump.give(1, bytes: 1) } == .cancelled)
    }

    @Test("A client that has left is not waited for by who serves it")
    func leftWhileTaking() async {
        let pump = Pump<Int>(maxBytes: 1, patience: .seconds(600))
        let taking = Task { () -> LarderError.Code? in
            await asyncCode { try await pump.take() }
        }
        pump.cancel()
        #expect(await taking.value == .cancelled)
    }

    @Test("What a call that has ended has asked for is not done")
    func ended() async throws {
        let pool = WorkPool("test", limit: 1)
        let isDone = Box(false)
        let gate = DispatchSemaphore(value: 0)
        pool.perform { gate.wait() }
        let ended = await withServerContextRPCCancellationHandle { handle in
            async let code = asyncCode {
                try await pool.run { () throws(LarderError) in isDone.withLock { $0 = true } }
            }
            handle.cancel()
            gate.signal()
            return await code
        }
        #expect(ended == .cancelled && !isDone.withLock { $0 })
    }

    @Test("Nor is what a task has asked for that is cancelled")
    func cancelled() async {
        let pool = WorkPool("test", limit: 1)
        let isDone = Box(false)
        let gate = DispatchSemaphore(value: 0)
        pool.perform { gate.wait() }
        let task = Task {
            await asyncCode {
                try await pool.run { () throws(LarderError) in isDone.withLock { $0 = true } }
            }
        }
        task.cancel()
        gate.signal()
        #expect(await task.value == .cancelled && !isDone.withLock { $0 })
    }

    /// What a call ends with whose client has left already.
    private func codeOfEndedCall(_ call: () async throws -> Void) async -> LarderError.Code? {
        await withServerContextRPCCancellationHandle { handle in
            handle.cancel()
            return await asyncCode(call)
        }
    }

    @Test("A query ends with the call that asks for it")
    func endedQuery() async throws {
        // So that the query waits for who takes what it finds.
        let test = TestService { $0.bytesAhead = 1 }
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

    @Test("Documents that are read end with the call that asks for them")
    func endedBatch() async throws {
        let test = TestService { $0.bytesAhead = 1 }
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

    @Test("An error of the reader comes behind what it gave")
    func failure() async throws {
        let pump = Pump<Int>(maxBytes: 10, patience: .zero)
        try pump.give(1, bytes: 1)
        pump.finish(.failure(LarderError(.dataLoss, "damaged")))
        #expect(try await pump.take() == [1])
        #expect(await asyncCode { try await pump.take() } == .dataLoss)
    }
}
