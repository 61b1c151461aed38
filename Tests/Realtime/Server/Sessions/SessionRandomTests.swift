import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeServer
import LarderRealtimeTestSupport
import LarderRealtimeWire
import LarderRuntime
import LarderSharedTestSupport
import Testing

@Suite("Sessions under random traffic")
struct SessionRandomTests {
    @Test("a session passes requests and events on as they are")
    func transparency() throws {
        var random = SeededRandom()
        var compared = 0
        for _ in 0..<60 {
            let (direct, framed) = (SessionWorld(), SessionWorld())
            let events = Box<[ConnectionEvent]>([])
            let connection = direct.backend.remote().connect(ConnectRequest()) { event in
                events.withLock { $0.append(event) }
            }
            direct.scheduler.drain()
            let client = framed.connect()
            _ = (client.received(), events.withLock { $0 = [] })
            for number in 1...40 {
                let request = random.request()
                connection.send(request, number: number)
                direct.scheduler.drain()
                let message = ClientMessage.request(RequestMessage(number: number, request))
                let received = client.send(message)
                let expected = events.withLock { events in
                    defer { events = [] }
                    return events.compactMap { $0.messageText(isListen: request.isListen) }
                }
                try #require(received == expected, "\(request): \(random)")
                compared += received.count
            }
            client.breakSocket()
            connection.close()
            direct.scheduler.drain()
            #expect(framed.backend.tree() == direct.backend.tree(), "\(random)")
        }
        #expect(compared > 2400)
    }

    @Test("damaged messages are answered or end the session, and never more")
    func mutations() throws {
        var random = SeededRandom()
        let valid = [
            #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","q":{"i":"x","l":2,"vf":"r"},"t":1,"h":""}}}"#,
            #"{"t":"d","d":{"r":2,"a":"p","b":{"p":"/a/b","d":{".sv":"timestamp"},"h":"x"}}}"#,
            #"{"t":"d","d":{"r":3,"a":"m","b":{"p":"","d":{"a/b":1,"c/.priority":2}}}}"#,
            #"{"t":"d","d":{"r":4,"a":"q","b":{"p":"/b","h":"x","ch":{"hs":["h",""],"ps":["c"]}}}}"#,
            #"{"t":"d","d":{"r":5,"a":"om","b":{"p":"a","d":{"x":{".sv":{"increment":1}}}}}}"#,
            #"{"t":"c","d":{"t":"p","d":{}}}"#, "2", "0",
        ]
        var (answers, ends) = (0, 0)
        for _ in 0..<3000 {
            let world = SessionWorld()
            let client = world.connect()
            _ = client.received()
            for _ in 0..<3 {
                let message = Array(random.pick(valid).utf8)
                let bytes = random.oneIn(2) ? message : random.mutated(message)
                for message in client.send(String(decoding: bytes, as: UTF8.self)) {
                    guard message != "close" else {
                        ends += 1
                        continue
                    }
                    _ = try ServerMessage(Array(message.utf8))
                    answers += 1
                }
            }
            client.breakSocket()
        }
        #expect(answers > 1000 && ends > 500, "\(answers) \(ends)")
    }
}

extension RealtimeRequest {
    fileprivate var isListen: Bool {
        if case .listen = self { true } else { false }
    }
}

extension ConnectionEvent {
    /// The message that a server sends for the event.
    fileprivate func messageText(isListen: Bool) -> String? {
        let message: ServerMessage
        switch self {
        case .response(let number, var response):
            if isListen, response == RealtimeResponse(.ok) { response.payload = .json(.object([])) }
            message = .response(ResponseMessage(number: number, response))
        case .push(let push): message = .push(push)
        default: return nil
        }
        return String(decoding: message.text, as: UTF8.self)
    }
}
