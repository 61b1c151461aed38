import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRules
import LarderRealtimeServer
import LarderSharedTestSupport
import Synchronization
import Testing

@Suite("Event streams")
struct EventStreamTests {
    private let head = "200 text/event-stream; charset=utf-8"

    @Test("a stream begins with the content and continues with the changes")
    func changes() throws {
        let rest = try RESTConversation()
        #expect(rest.text("PUT", "/a.json", #"{"b":1,"c":[1,2]}"#) == #"200 {"b":1,"c":[1,2]}"#)
        let stream = rest.listen("/a.json")
        #expect(stream.received() == [head, #"put {"path":"/","data":{"b":1,"c":[1,2]}}"#])
        _ = rest.text("PUT", "/a/b/d.json", "2")
        _ = rest.text("PATCH", "/a.json", #"{"b":null,"e/f":3}"#)
        _ = rest.text("PUT", "/other.json", "1")
        _ = rest.text("PUT", "/a/e/.priority.json", "1")
        _ = rest.text("DELETE", "/.json")
        #expect(
            stream.received() == [
                #"put {"path":"/b/d","data":2}"#, #"patch {"path":"/","data":{"b":null,"e/f":3}}"#,
                #"put {"path":"/","data":null}"#,
            ])
        stream.close()
        _ = rest.text("PUT", "/a.json", "1")
        #expect(stream.received() == [])
    }

    @Test("a stream of nothing begins with null")
    func empty() throws {
        let rest = try RESTConversation()
        let stream = rest.listen("/a.json?format=export")
        #expect(stream.received() == [head, #"put {"path":"/","data":null}"#])
        _ = rest.text("PUT", "/a.json", #"{".value":1,".priority":2}"#)
        _ = rest.text("PUT", "/a/.priority.json", "3")
        #expect(
            stream.received() == [
                #"put {"path":"/","data":{".value":1,".priority":2}}"#,
                #"put {"path":"/.priority","data":3}"#,
            ])
    }

    @Test("a stream of a query has the children that enter and leave")
    func windows() throws {
        let rest = try RESTConversation()
        _ = rest.text("PUT", "/s.json", #"{"a":1,"b":2,"c":3}"#)
        let stream = rest.listen("/s.json?orderBy=%22$value%22&limitToLast=2")
        #expect(stream.received() == [head, #"put {"path":"/","data":{"b":2,"c":3}}"#])
        _ = rest.text("PUT", "/s/a.json", "9")
        #expect(stream.received() == [#"patch {"path":"/","data":{"b":null,"a":9}}"#])
    }

    @Test("a stream that the rules deny is an answer, and later a message")
    func denied() throws {
        let rest = try RESTConversation(rules: #"{"rules": {"$u": {".read": "auth.uid == $u"}}}"#)
        let denied = rest.listen("/ada.json")
        #expect(denied.received() == [#"401 {"error":"Permission denied"}"#])
        let stream = rest.listen("/ada.json?auth=ada")
        #expect(stream.received() == [head, #"put {"path":"/","data":null}"#])
        let closed = try SecurityRules(#"{"rules": {}}"#)
        rest.perform { $0.setSecurityRules(closed) }
        #expect(stream.received() == ["cancel null", "end"])
    }

    @Test("a stream ends when its token expires")
    func expired() throws {
        let rest = try RESTConversation()
        let stream = rest.listen("/a.json?auth=short")
        _ = stream.received()
        rest.perform { $0.expireTokens() }
        #expect(stream.received() == [#"auth_revoked "credential is no longer valid""#, "end"])
    }

    @Test("streams end with their connections, and begin with errors of the server")
    func ends() throws {
        let rest = try RESTConversation()
        let (stream, released) = (rest.listen("/a.json"), rest.listen("/a.json"))
        released.release()
        _ = (stream.received(), released.received())
        rest.perform { $0.dropConnections() }
        #expect(stream.received() == ["end"])
        #expect(released.received() == [])
        rest.perform { $0.refuseConnections(with: LarderError(realtime: .unavailable, "later")) }
        #expect(rest.listen("/a.json").received() == [#"503 {"error":"later"}"#])
        #expect(rest.listen("/a.json?startAt=1").received().map { $0.prefix(4) } == ["400 "])
    }

    @Test("a change is encoded once for all streams of a location that receive it")
    func shared() throws {
        let rest = try RESTConversation()
        let sent = Box<[SharedBytes]>([])
        let ledger = MemoryLedger(limit: 100 << 20)
        let account = ledger.open { completion in completion() }
        let request = try RESTRequest(
            "GET", "/a.json", headers: [("Accept", "text/event-stream")])
        let streams = (0..<3).map { _ in
            rest.service.serve(request, memory: account) { output in
                if case .streamData(let bytes) = output { sent.withLock { $0.append(bytes) } }
            }
        }
        rest.scheduler.drain()
        sent.withLock { $0 = [] }
        let text = String(repeating: "x", count: 1 << 20)
        _ = rest.text("PUT", "/a.json", "\"\(text)\"")
        let messages = sent.withLock { $0 }
        #expect(messages.count == 3 && Set(messages.map(ObjectIdentifier.init)).count == 1)
        #expect((1 << 20..<2 << 20).contains(ledger.heldBytes))
        for stream in streams { stream?.close() }
        _ = rest.text("PUT", "/a.json", "1")
        sent.withLock { $0 = [] }
        withExtendedLifetime(messages) {}
    }

    @Test("the message that keeps a stream alive is an event without data")
    func keepAlive() {
        #expect(
            String(decoding: EventStream.keepAlive.bytes, as: UTF8.self)
                == "event: keep-alive\ndata: null\n\n")
    }
}
