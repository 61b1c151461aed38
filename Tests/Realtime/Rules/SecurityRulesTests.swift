import LarderCore
import LarderRealtimeModel
import LarderRealtimeRules
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

/// Requests to a tree with rules, and whether they are allowed.
struct RulesCase: Sendable, CustomStringConvertible {
    let source: String
    let rules: String
    var data = "null"
    var auth = "null"
    /// Locations that may be read, and those that may not.
    var reads: [String] = []
    var deniedReads: [String] = []
    /// Writes as a path and a value; several locations are separated by `;`.
    var writes: [(String, String)] = []
    var deniedWrites: [(String, String)] = []

    var description: String { source }

    func allowsRead(_ path: String) throws -> Bool {
        try SecurityRules(rules).allowsRead(
            of: QuerySpec(TreePath(path)), in: Node(parsing: data), context())
    }

    func allowsWrite(_ path: String, _ text: String) throws -> Bool {
        let tree = try Node(parsing: data)
        let paths = path.split(separator: ";", omittingEmptySubsequences: false).map {
            TreePath(String($0))
        }
        let values = text.split(separator: ";").map(String.init)
        var result = tree
        for (path, value) in zip(paths, values) {
            result = result.setting(path, to: try Node(parsing: value))
        }
        let rules = try SecurityRules(rules)
        return try paths.allSatisfy {
            rules.allowsWrite(at: $0, from: tree, to: result, try context())
        }
    }

    private func context() throws -> RulesContext {
        RulesContext(auth: try RulesFixture.json(auth), milliseconds: RulesFixture.milliseconds)
    }

    /// How many requests the case has.
    var count: Int { reads.count + deniedReads.count + writes.count + deniedWrites.count }
}

@Suite("Security rules")
struct SecurityRulesTests {
    @Test("requests are allowed as the documentation says", arguments: RulesTable.cases)
    func table(rulesCase: RulesCase) throws {
        for path in rulesCase.reads { #expect(try rulesCase.allowsRead(path), "read \(path)") }
        for path in rulesCase.deniedReads {
            #expect(try !rulesCase.allowsRead(path), "read \(path)")
        }
        for (path, value) in rulesCase.writes {
            #expect(try rulesCase.allowsWrite(path, value), "write \(path) \(value)")
        }
        for (path, value) in rulesCase.deniedWrites {
            #expect(try !rulesCase.allowsWrite(path, value), "write \(path) \(value)")
        }
    }

    @Test("characters of all planes are read in names and expressions, escaped or not")
    func planes() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let (name, text) = (random.nameOfAllPlanes(), random.textOfAllPlanes())
            let expression = "auth.text === \(random.json(text))"
            let rules = RulesCase(
                source: "",
                rules: #"{"rules":{\#(random.json(name)):{".read":\#(random.json(expression))}}}"#,
                auth: #"{"text":\#(random.json(text))}"#)
            #expect(try rules.allowsRead(name), "\(random)")
        }
        for text in [#"'\ud842'"#, #"'\udfb7\ud842'"#, #"'\ud842\n'"#, #"'\ud842\ud842'"#] {
            #expect(throws: LarderError.self) {
                try SecurityRules(RulesFixture.file("auth.text === \(text)"))
            }
        }
    }

    @Test("queries need the index of their order at their location")
    func indexes() throws {
        let rules = try SecurityRules(
            """
            {"rules": {
              "dinosaurs": {".indexOn": ["height", "size/length"]},
              "scores": {".indexOn": ".value"},
              "rooms": {"$room": {".indexOn": "name"}, "lobby": {}}
            }}
            """)
        func missing(_ path: String, _ index: NodeIndex) throws -> String? {
            let parameters = try QueryBuilder().ordered(by: index).parameters
            return rules.missingIndex(of: QuerySpec(TreePath(path), parameters))
        }
        #expect(try missing("dinosaurs", .child(TreePath("height"))) == nil)
        #expect(try missing("dinosaurs", .child(TreePath("size/length"))) == nil)
        #expect(try missing("dinosaurs", .child(TreePath("length"))) == "length")
        #expect(try missing("dinosaurs/x", .child(TreePath("height"))) == "height")
        #expect(try missing("", .child(TreePath("dinosaurs/height"))) == "dinosaurs/height")
        #expect(try missing("dinosaurs", .value) == ".value")
        #expect(try missing("scores", .value) == nil)
        #expect(try missing("rooms/any", .child(TreePath("name"))) == nil)
        #expect(try missing("rooms/lobby", .child(TreePath("name"))) == "name")
        #expect(try missing("anywhere", .key) == nil)
        #expect(try missing("anywhere", .priority) == nil)
    }
}
