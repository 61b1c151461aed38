import GRPCCore
import LarderModel
import LarderWire
import SwiftProtobuf

/// A read of few documents, as a request asks for it: made at once where it can be.
struct SmallRead<R: Sendable>: Sendable {
    /// A name that begins with that of the database.
    let resource: String
    /// As of when.
    let consistency: Consistency
    /// What reads; any thread may, for as long as few documents take.
    let body: @Sendable (Session, MessageCoder) throws(LarderError) -> R

    init(
        of resource: String, _ consistency: Consistency,
        _ body: @escaping @Sendable (Session, MessageCoder) throws(LarderError) -> R
    ) {
        self.resource = resource
        self.consistency = consistency
        self.body = body
    }

    /// A read that makes something of what this one reads.
    func map<T: Sendable>(_ change: @escaping @Sendable (R) -> T) -> SmallRead<T> {
        SmallRead<T>(of: resource, consistency) { [body] (session, coder) throws(LarderError) in
            change(try body(session, coder))
        }
    }
}

extension ShortCall {
    /// A call whose requests ask for few documents, or for what is not short.
    init<Request: Message, Response>(
        _ method: MethodDescriptor, _ service: FirestoreService,
        _ read: @escaping @Sendable (Request) -> SmallRead<[Answer<Response>]>?
    ) {
        self.init(method: method, monitor: service.monitor) { bytes in
            guard let request = try? Request(serializedBytes: bytes), let read = read(request)
            else { return nil }
            return Work { tell in
                guard let answers = try service.readAtOnce(read) else { return false }
                tell { try answers.map { try $0.serializedBytes() } }
                return true
            } later: {
                try await service.read(read).map { try $0.serializedBytes() }
            }
        }
    }
}
