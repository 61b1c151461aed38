import LarderCore
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeModel

@Suite("Nodes of files")
struct NodeFileTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func node(_ text: String) throws -> (Result<Node, NodeTextError>, readings: Int) {
        var text = text
        let file = try TemporaryFile(in: directory.path)
        try text.withUTF8 { try file.append(UnsafeRawBufferPointer($0)) }
        var readings = 0
        let result = try file.readNodes { (text, passed) throws(NodeTextError) in
            readings += 1
            return try Node(parsing: text, passed: passed)
        }
        return (result, readings)
    }

    private func error(_ text: String) throws -> JSONError? {
        guard case .failure(.text(let error)) = try node(text).0 else { return nil }
        return error
    }

    @Test("a large text is read once, as it would be from memory")
    func largeText() throws {
        let text = String(repeating: "the message ", count: 40)
        let members = (0..<12_000).map {
            #""key \#($0)":{"text":"\#(text) \#($0) é","n":\#($0)}"#
        }
        var whole = "{\(members.joined(separator: ", "))}"
        try #require(whole.utf8.count > 5 << 20)
        let (result, readings) = try node(whole)
        let expected = try whole.withUTF8 { try Node(parsing: UnsafeRawBufferPointer($0)) }
        #expect(try result.get() == expected && readings == 1)
    }

    @Test("a value that is larger than the part in memory is read as well")
    func largeValue() throws {
        let long = String(repeating: "long é ", count: 1 << 19)
        let text = #"{"a":1,"long":"\#(long)","z":{"b":true}}"#
        let (result, readings) = try node(text)
        let node = try result.get()
        #expect(node.child(ChildKey("long")) == Node(.string(long)) && readings == 2)
        #expect(node.node(at: TreePath("z/b")) == Node(.boolean(true)) && node.childCount == 3)
    }

    @Test("a value is read wherever the part in memory ends in it")
    func cuts() throws {
        let texts = [
            (#"{"a":"#, " ", #"-12.5e+3,"z":1}"#), (#"{"a":"#, " ", #"true}"#), ("", " ", "12"),
            (#"{"a":"#, " ", #"{"\ud83d\ude00":[1,null,"é"]}}"#),
            (#"{"a":""#, "x", #"\ud83d\ude00\n\u00e9é","z":false}"#),
        ]
        for (head, padding, tail) in texts {
            for cut in 0...tail.utf8.count {
                let count = 2 << 20 - head.utf8.count - cut
                var text = head + String(repeating: padding, count: count) + tail
                let (result, readings) = try node(text)
                let expected = try text.withUTF8 { try Node(parsing: UnsafeRawBufferPointer($0)) }
                #expect(try result.get() == expected, "\(head)\(tail) \(cut)")
                #expect(readings == (cut == 0 ? 2 : readings), "\(head)\(tail)")
            }
        }
    }

    @Test("what takes note of the progress can end the reading")
    func stopping() throws {
        var text = #"{"a":1,"b":{"c":2},"d":3}"#
        let file = try TemporaryFile(in: directory.path)
        try text.withUTF8 { try file.append(UnsafeRawBufferPointer($0)) }
        for limit in 0...text.utf8.count {
            let result = Result {
                try file.readNodes { (text, _) throws(NodeTextError) in
                    try Node(parsing: text) { (offset) throws(LarderError) in
                        guard offset <= limit else { throw LarderError(realtime: .cancelled, "x") }
                    }
                }
            }
            // The last member ends before the brace.
            switch result {
            case .success(let node):
                #expect(limit >= text.utf8.count - 1 && (try? node.get()) != nil)
            case .failure(let error):
                #expect(limit < text.utf8.count - 1 && (error as? LarderError)?.kind == .cancelled)
            }
        }
    }

    @Test("an error has its place, in a part that is in memory and beyond")
    func errors() throws {
        #expect(try error(#"{"a":tru}"#)?.offset == 5)
        let member = #""k":{"text":"\#(String(repeating: "the message ", count: 40))"},"#
        let long = "{" + String(repeating: member, count: 3 << 20 / member.utf8.count)
        let end = long.utf8.count
        #expect(try error(long + #""z":tru}"#)?.offset == end + 4)
        #expect(try error(long + "\0")?.offset == end)
        #expect(try error("[1,\0\0")?.offset == 3)
        #expect(try error(long + #""z":1}"#)?.reason == "duplicate name 'k'")
    }
}
