import DequeModule
import GRPCCore
import LarderBackend
import LarderCore
import LarderModel
import LarderRemote
import LarderWire
import SwiftProtobuf

/// A Write stream: commits writes in order and responds to each.
///
/// The next request of a client that does not receive its responses waits.
struct WriteStreamHandler: StreamHandler {
    private let stream: any WriteStream
    private let coder: MessageCoder
    private let maxUnanswered: Int
    /// The writes of each request without a response.
    private var unanswered: Deque<[Mutation]> = []

    static var method: MethodDescriptor { Google_Firestore_V1_Firestore.Method.Write.descriptor }

    static func database(of message: Google_Firestore_V1_WriteRequest) -> String {
        message.database
    }

    static func decode(
        _ message: Google_Firestore_V1_WriteRequest, size _: Int, isFirst: Bool,
        _ coder: MessageCoder
    ) throws(LarderError) -> WriteRequest {
        try coder.decode(message, isFirst: isFirst)
    }

    init(
        _ database: DatabaseContext, _ limits: ServerConfiguration.Limits, _ memory: MemoryAccount,
        _ tell: @escaping @Sendable (WriteEvent) -> Void
    ) {
        stream = database.backend.openWriteStream(as: database.credentials, tell)
        coder = database.coder()
        maxUnanswered = max(limits.writesOnTheirWay, 1)
    }

    var unansweredCount: Int { unanswered.count }
    var isFull: Bool { unanswered.count >= maxUnanswered }

    mutating func send(_ request: WriteRequest) {
        switch request {
        case .handshake: unanswered.append([])
        case .write(let mutations, _, _): unanswered.append(mutations)
        }
        stream.send(request)
    }

    mutating func answer(to event: WriteEvent) throws -> StreamResponse {
        switch event {
        case .opened: return .nothing
        case .handshake(let token, let keepsNames):
            _ = unanswered.popFirst()
            return .responses([
                try coder.encode(handshake: token, keepsNames: keepsNames).serializedBytes()
            ])
        case .committed(let response, let token):
            let mutations = unanswered.popFirst() ?? []
            return .responses([
                try coder.encode(response, of: mutations, streamToken: token).serializedBytes()
            ])
        case .closed(let error): return .end(error)
        }
    }

    func noteTaken(_ count: Int) {}

    func close() {
        stream.close()
    }
}
