import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeModel

@Suite("Nodes from JSON text")
struct NodeParserTests {
    /// The node of a text by way of a tree of the JSON; nil for an invalid one.
    private func node(byTree text: [UInt8], at path: TreePath) -> Node? {
        guard let json = try? JSONValue(parsing: text, maximumDepth: 1000) else { return nil }
        if path.isPriority { return (try? Priority(validating: json)).map { Node($0) } }
        return try? Node(validating: json, at: path)
    }

    private func node(_ text: [UInt8], at path: TreePath = .root) -> Node? {
        text.withUnsafeBytes { try? Node(parsing: $0, at: path) }
    }

    private func problem(_ text: String) -> String {
        let text = Array(text.utf8)
        do throws(NodeTextError) {
            _ = try text.withUnsafeBufferPointer { (text) throws(NodeTextError) in
                try Node(parsing: UnsafeRawBufferPointer(text))
            }
            return "none"
        } catch {
            switch error {
            case .text(let error): return "\(error.offset): \(error.reason)"
            case .data(let error), .stopped(let error): return error.message
            }
        }
    }

    private static let texts = [
        "null", "1.5", #""text""#, " [1,null,{\"a\":true}] ", "{}", "[]",
        #"{"a":{"b":[1,2,null]},".priority":3}"#, #"{".value":1,".priority":"x"}"#,
        #"{".value":{"a":1,".priority":2},".priority":4}"#, #"{".value":null,"a":1}"#,
        #"{"a":{".sv":"timestamp"},"b":{".sv":{"increment":2}},"c":"x\u00e9\n"}"#,
        #"{"b":1,"a":2,"b":3}"#, #"{"10":1,"9":2,"x":{"y":{}}}"#, #"{".sv":"timestamp","a":1}"#,
        #"{".value":1,"a":1}"#, #"{"a":{".priority":true}}"#, #"{".other":1}"#, #"{"a.b":1}"#,
    ]

    @Test("a text has the node of its JSON, or is refused as that is; also a damaged one")
    func differential() throws {
        var random = SeededRandom()
        var counts = (nodes: 0, refusals: 0)
        for _ in 0..<20_000 {
            let made = random.oneIn(2)
            var text = Array(random.pick(Self.texts).utf8)
            if made {
                text = []
                JSONWriter.append(random.node().exportedJSON, to: &text)
            }
            if random.oneIn(2) { text = random.mutated(text) }
            let path = random.oneIn(9) ? TreePath("a/.priority") : random.path()
            let expected = node(byTree: text, at: path)
            try #require(
                node(text, at: path) == expected,
                "\(String(decoding: text, as: UTF8.self)) at \(path), \(random)")
            if expected == nil { counts.refusals += 1 } else { counts.nodes += 1 }
        }
        #expect(counts.nodes > 2000 && counts.refusals > 2000, "\(counts)")
    }

    @Test("an exported node's text has the node of its JSON, or is refused as that is")
    func exported() throws {
        var random = SeededRandom()
        var counts = (nodes: 0, refusals: 0)
        for _ in 0..<10_000 {
            let node = random.node()
            var text: [UInt8] = []
            node.appendExportedText(to: &text)
            var written: [UInt8] = []
            JSONWriter.append(node.exportedJSON, to: &written)
            try #require(text == written, "\(random)")
            if random.oneIn(2) { text = random.mutated(Array(random.pick(Self.texts).utf8)) }
            let expected = (try? JSONValue(parsing: text, maximumDepth: 4))
                .flatMap { try? Node(exported: $0) }
            let read = text.withUnsafeBytes { try? Node(parsingExported: $0, maximumDepth: 4) }
            try #require(
                read == expected, "\(String(decoding: text, as: UTF8.self)), \(random)")
            if expected == nil { counts.refusals += 1 } else { counts.nodes += 1 }
        }
        #expect(counts.nodes > 1000 && counts.refusals > 1000, "\(counts)")
    }

    @Test("an update's text has the values of its JSON, or is refused as that is")
    func updates() throws {
        var random = SeededRandom()
        let texts = [
            #"{"a/b":1,"c":null}"#, #"{"a":1,"a/b":2}"#, #"{"a/.priority":2,"b":{"c":[1]}}"#, "[]",
            #"{"":1}"#, #"{"/":1}"#, "{}", "null", #"{"x":{"y":1},"x":2}"#,
        ]
        for _ in 0..<5000 {
            var text = Array(random.pick(texts).utf8)
            if random.oneIn(2) { text = random.mutated(text) }
            let path = random.path()
            let json = try? JSONValue(parsing: text, maximumDepth: 1000)
            let expected = json.flatMap { try? [PathValue](validatingUpdate: $0, at: path) }
            let values = text.withUnsafeBytes {
                try? [PathValue](parsingUpdate: $0, at: path)
            }
            try #require(
                values == expected, "\(String(decoding: text, as: UTF8.self)) \(path) \(random)")
        }
    }

    @Test("an error says where the text is no JSON, or what is wrong with the data")
    func errors() {
        #expect(problem(#"{"a":1"#).hasPrefix("6: "))
        #expect(problem(#"[{"a":1,"b":2,"a":3}]"#) == "1: duplicate name 'a'")
        #expect(problem(#"{"a":{"b$":1}}"#).contains("'b$' contains '$'"))
        #expect(problem("1 2").hasPrefix("2: "))
        let deep = String(repeating: #"{"a":"#, count: 40) + "1" + String(repeating: "}", count: 40)
        #expect(problem(deep).contains("too deep"))
    }

    @Test("an object with very many names that begin with a dot is refused soon")
    func manyNamesWithDots() {
        let names = (0..<300_000).map { #"".n\#($0 &* 7_919 % 300_000)":1"# }
        var found: [String] = []
        // A comparison of each name with each other one takes minutes.
        let seconds = processorSeconds {
            for last in ["", #","a":1,".n17":2"#, #",".n17":2"#] {
                found.append(problem("{\(names.joined(separator: ","))\(last)}"))
            }
        }
        #expect(found[0].contains("the key '.n0' contains '.'"))
        #expect(found.dropFirst().allSatisfy { $0 == "0: duplicate name '.n17'" }, "\(found)")
        #expect(seconds < 60)
    }

    @Test("the memory in use is that of one leaf: what was read is passed by")
    func passing() throws {
        let leaf = String(repeating: "x", count: 100)
        let text = Array(
            ("{" + (0..<1000).map { "\"k\($0)\":\"\(leaf)\"" }.joined(separator: ",") + "}").utf8)
        var (last, largest) = (0, 0)
        _ = try text.withUnsafeBufferPointer { text in
            try Node(parsing: UnsafeRawBufferPointer(text)) { offset in
                largest = max(largest, offset - last)
                last = offset
            }
        }
        #expect(last == text.count - 1 && largest < 120)
    }
}
