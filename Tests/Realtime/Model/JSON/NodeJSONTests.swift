import LarderCore
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeModel

@Suite("JSON of nodes")
struct NodeJSONTests {
    private func json(_ text: String) throws -> JSONValue {
        try JSONValue(parsing: Array(text.utf8), maximumDepth: 1000, duplicateNames: .kept)
    }

    private func validated(_ text: String, priority: String? = nil) throws -> String {
        try Node(validating: json(text), priority: priority.map(json)).description
    }

    private func plain(_ text: String) throws -> JSONValue { try Node(parsing: text).plainJSON }

    @Test(
        "what an application writes, and its export format",
        arguments: [
            ("null", "null"), ("1", "1"), ("1.5", "1.5"), ("2.0", "2"), (#""x""#, #""x""#),
            ("[]", "null"), ("{}", "null"), (#"{"a":{"b":[]},"c":null}"#, "null"),
            ("[1,null,2]", #"{"0":1,"2":2}"#), (#"{"b":1,"10":2,"9":3}"#, #"{"9":3,"10":2,"b":1}"#),
            (#"{".value":1,".priority":"p"}"#, #"{".value":1,".priority":"p"}"#),
            (#"{".value":null,".priority":"p"}"#, "null"), (#"{".priority":"p"}"#, "null"),
            (#"{".value":1}"#, "1"), (#"{"a":1,".priority":2}"#, #"{"a":1,".priority":2}"#),
            (#"{".sv":"timestamp"}"#, #"{".sv":"timestamp"}"#),
            (
                #"{".value":{".sv":{"increment":2}},".priority":{".sv":"timestamp"}}"#,
                #"{".value":{".sv":{"increment":2}},".priority":{".sv":"timestamp"}}"#
            ),
        ])
    func importing(_ text: String, export: String) throws {
        #expect(try validated(text) == export)
        #expect(try Node(parsing: text).description == export)
    }

    @Test("an embedded priority overrides the given one")
    func givenPriority() throws {
        #expect(try validated("1", priority: "2") == #"{".value":1,".priority":2}"#)
        #expect(try validated("[1]", priority: #""p""#) == #"{"0":1,".priority":"p"}"#)
        #expect(
            try validated(#"{"a":1,".priority":3}"#, priority: "2") == #"{"a":1,".priority":3}"#)
        #expect(try validated("null", priority: "2") == "null")
    }

    @Test(
        "invalid data is refused",
        arguments: [
            #"{"a.b":1}"#, #"{"":1}"#, #"{"a/b":1}"#, #"{"a\u0001":1}"#, #"{".foo":1}"#,
            #"{".value":1,"a":2}"#, #"{".value":[1],".priority":true}"#, #"{"a":1,".priority":{}}"#,
            #"{".sv":"timestamp","a":1}"#, #"{".sv":"other"}"#, #"{".sv":{"increment":"1"}}"#,
            #"{".sv":{"increment":1,"x":2}}"#, #"{"a":1,".priority":true}"#,
        ])
    func invalid(_ text: String) throws {
        let value = try json(text)
        #expect(throws: LarderError.self) { try Node(validating: value) }
    }

    @Test("data of a server is taken as it is, without what is no child")
    func lenient() throws {
        #expect(try Node(parsing: #"{"a.b":1,".foo":2}"#).description == #"{"a.b":1}"#)
        #expect(try Node(parsing: #"{"a":1,".priority":true}"#).description == #"{"a":1}"#)
        #expect(throws: LarderError.self) { try Node(parsing: #"{".sv":"other"}"#) }
    }

    @Test("strings, numbers and depth have limits, which count from the written place")
    func limits() throws {
        let long = String(repeating: "x", count: LeafValue.maximumStringBytes)
        _ = try Node(validating: .string(long))
        #expect(throws: LarderError.self) { try Node(validating: .string(long + "x")) }
        #expect(throws: LarderError.self) { try Node(validating: .double(.nan)) }
        #expect(throws: LarderError.self) { try Node(validating: .double(.infinity)) }
        func nested(_ depth: Int) throws -> JSONValue {
            try json(
                String(repeating: #"{"k":"#, count: depth) + "1"
                    + String(repeating: "}", count: depth))
        }
        _ = try Node(validating: nested(32))
        #expect(throws: LarderError.self) { try Node(validating: nested(33)) }
        let two = TreePath("a/b")
        _ = try Node(validating: nested(30), at: two)
        #expect(throws: LarderError.self) { try Node(validating: nested(31), at: two) }
        #expect(try Node(exported: nested(999)).node(at: two) == .empty)
        let wide = JSONValue.object([JSONMember(String(repeating: "x", count: 400), .integer(1))])
        let far = TreePath(String(repeating: "y", count: 367))
        _ = try Node(validating: wide, at: far)
        #expect(throws: LarderError.self) { try Node(validating: wide, at: far.child(.priority)) }
    }

    @Test(
        "plain values have arrays where more than half of the places are taken",
        arguments: [
            (#"{"0":1,"1":2,"2":3}"#, "[1,2,3]"), (#"{"0":1,"5":2}"#, #"{"0":1,"5":2}"#),
            (#"{"1":"a","2":"b"}"#, #"[null,"a","b"]"#), (#"{"1":"a"}"#, #"[null,"a"]"#),
            (#"{"2":"a"}"#, #"{"2":"a"}"#), (#"{"0":1,"01":2}"#, #"{"0":1,"01":2}"#),
            (#"{"-1":1,"0":2}"#, #"{"-1":1,"0":2}"#), (#"{"0":1,"a":2}"#, #"{"0":1,"a":2}"#),
            (#"{"-0":1}"#, #"{"-0":1}"#), (#"{"0":{"0":1},".priority":1}"#, "[[1]]"),
            (#"{".value":1,".priority":1}"#, "1"), ("null", "null"),
            (#"{"0":{".sv":"timestamp"}}"#, #"[{".sv":"timestamp"}]"#),
        ])
    func plainValues(_ text: String, plain: String) throws {
        #expect(try self.plain(text) == json(plain))
    }

    @Test("numbers survive text exactly")
    func numbers() throws {
        var random = SeededRandom()
        for _ in 0..<5000 {
            let double = Double(bitPattern: random.next())
            guard let value = LeafValue.double(double) else { continue }
            #expect(try Node(parsing: Node(value).description) == Node(value), "\(random)")
        }
        for integer in [Int64.min, .max, 1 << 53 + 1, -(1 << 53) - 1] {
            #expect(try Node(parsing: "\(integer)").leafValue == .integer(integer))
        }
    }

    @Test("the export format survives text and reading, at random")
    func roundTrip() throws {
        var random = SeededRandom()
        for _ in 0..<300 {
            let node = random.node()
            #expect(try Node(parsing: node.description) == node, "\(random)")
            #expect(PlainTree(node).json == node.exportedJSON, "\(random)")
        }
    }
}
