import Foundation
import GRPCCore
import LarderHTTP
import LarderWire
import NIOPosix
import SwiftProtobuf
import Testing

@testable import LarderServer

@Suite("Server: requests as they come")
struct ReceivedTests {
    private typealias Request = Google_Firestore_V1_RollbackRequest

    private var isOnLoop: Bool { MultiThreadedEventLoopGroup.currentEventLoop != nil }

    @Test("A large request is read where no event loop waits for it", arguments: [10, 1 << 20])
    func place(size: Int) async throws {
        let request = Request.with { $0.transaction = Data(repeating: 7, count: size) }
        let received = try RequestMessage<Request>(try request.serializedBytes() as [UInt8])
        let executor = LoopExecutor(MultiThreadedEventLoopGroup.singleton)
        try await Task(executorPreference: executor) {
            #expect(isOnLoop)
            let (message, wasOnLoop) = try await received.read { ($0, isOnLoop) }
            #expect(message == request)
            #expect(wasOnLoop == (size == 10))
            #expect(isOnLoop)
        }.value
    }

    @Test("Bytes that are no request are refused", arguments: [10, 1 << 20])
    func noRequest(size: Int) async {
        let error = await #expect(throws: RPCError.self) {
            try await RequestMessage<Request>([UInt8](repeating: 0xff, count: size)).read { _ in }
        }
        #expect(error?.code == .invalidArgument)
    }
}
