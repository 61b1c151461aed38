import LarderRealtimeModel
import LarderRealtimeTestSupport
import Testing

@Suite("Values that the server computes")
struct ServerValueTests {
    private func resolve(_ text: String, over existing: String) throws -> String {
        let existing = try Node(parsing: existing)
        return try Node(parsing: text).resolvingServerValues(at: 1000) { existing }.description
    }

    @Test("timestamps and increments are computed wherever they stand")
    func resolving() throws {
        #expect(try resolve(#"{".sv":"timestamp"}"#, over: "null") == "1000")
        #expect(try resolve(#"{".sv":{"increment":2}}"#, over: "5") == "7")
        #expect(try resolve(#"{".sv":{"increment":0.5}}"#, over: "5") == "5.5")
        for existing in ["null", #""5""#, "true", #"{"a":5}"#] {
            #expect(try resolve(#"{".sv":{"increment":2}}"#, over: existing) == "2")
        }
        #expect(
            try resolve(
                #"{"a":{"b":{".sv":{"increment":1}},"c":2},"t":{".sv":"timestamp"},"x":"y"}"#,
                over: #"{"a":{"b":41}}"#) == #"{"a":{"b":42,"c":2},"t":1000,"x":"y"}"#)
    }

    @Test("priorities are computed from priorities")
    func priorities() throws {
        #expect(
            try resolve(
                #"{".value":1,".priority":{".sv":{"increment":1}}}"#,
                over: #"{".value":7,".priority":2}"#) == #"{".value":1,".priority":3}"#)
        #expect(
            try resolve(#"{"a":1,".priority":{".sv":"timestamp"}}"#, over: "null")
                == #"{"a":1,".priority":1000}"#)
        #expect(
            try resolve(
                #"{".value":{".sv":{"increment":1}},".priority":4}"#,
                over: #"{".value":7,".priority":2}"#) == #"{".value":8,".priority":4}"#)
    }

    @Test("what exists is asked for only by increments, and once")
    func laziness() throws {
        var calls = 0
        let existing = { () -> Node in
            calls += 1
            return .empty
        }
        let timestamp = try Node(parsing: #"{"a":{".sv":"timestamp"}}"#)
        #expect(
            timestamp.resolvingServerValues(at: 0, existing: existing).hasDeferredValues == false)
        #expect(calls == 0)
        let two = try Node(parsing: #"{"a":{".sv":{"increment":1}},"b":{".sv":{"increment":1}}}"#)
        _ = two.resolvingServerValues(at: 0, existing: existing)
        #expect(calls == 1)
    }
}
