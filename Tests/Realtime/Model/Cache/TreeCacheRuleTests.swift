import LarderCore
import LarderRealtimeModel
import LarderRealtimeTestSupport
import Testing

@Suite("Cache rules of a tree")
struct TreeCacheRuleTests {
    private func rule(_ path: String, isPinned: Bool = false) -> TreeCacheRule {
        TreeCacheRule(TreePath(path), isPinned: isPinned)
    }

    private func message(_ rules: [TreeCacheRule]) -> String? {
        do throws(LarderError) {
            _ = try TreeCacheRules(rules)
            return nil
        } catch {
            return error.kind == .invalidArgument ? error.message : "\(error.kind)"
        }
    }

    @Test("the deepest rule at or above a location applies")
    func deepest() throws {
        let rules = try TreeCacheRules(
            [rule("a/b/c"), rule("a"), rule("a/b", isPinned: true), rule("x/y")])
        let applied = ["", "a", "a/z", "a/b", "a/b/d/e", "a/b/c", "a/b/c/d", "x", "x/y/z", "ab"]
            .map { rules[TreePath($0)]?.path.text }
        #expect(
            applied == [nil, "a", "a", "a/b", "a/b", "a/b/c", "a/b/c", nil, "x/y", nil])
        #expect(rules.exceptions(to: rule("a")).map(\.text) == ["a/b"])
        #expect(rules.exceptions(to: rule("a/b/c")).isEmpty)
        #expect(rules.pinnedPaths(below: .root).map(\.text) == ["a/b"])
        #expect(rules.pinnedPaths(below: TreePath("a/b")).map(\.text) == ["a/b"])
        #expect(rules.pinnedPaths(below: TreePath("a/b/c")).isEmpty)
        #expect(try TreeCacheRules([rule("")])[TreePath("any/where")]?.path == .root)
        #expect(TreeCacheRules()[.root] == nil)
    }

    @Test("rules at, above and below a location overlap it")
    func overlapping() throws {
        let rules = try TreeCacheRules([rule("a"), rule("a/b"), rule("a/b/c"), rule("a/x")])
        var paths: [String] = []
        rules.forEach(overlapping: TreePath("a/b")) { paths.append($0.path.text) }
        #expect(paths.sorted() == ["a", "a/b", "a/b/c"])
    }

    @Test("the age that is shortest decides how often ages are checked, within limits")
    func interval() throws {
        func interval(_ ages: Duration...) throws -> Duration? {
            try TreeCacheRules(
                ages.enumerated().map { TreeCacheRule(TreePath("\($0)"), maximumAge: $1) }
            ).checkInterval
        }
        #expect(try interval() == nil)
        #expect(try interval(.seconds(160), .seconds(320)) == .seconds(10))
        #expect(try interval(.seconds(2)) == .seconds(1))
        #expect(try interval(.seconds(1_000_000)) == .seconds(3_600))
    }

    @Test("a write is local only if all that it replaces is")
    func localOnly() throws {
        let rules = try TreeCacheRules([
            rule("a"), TreeCacheRule(TreePath("a/b"), isLocalOnly: true),
            TreeCacheRule(TreePath("x"), isPinned: true, isLocalOnly: true),
        ])
        #expect(rules.localOnlyPaths.map(\.text) == ["a/b", "x"])
        #expect(["", "a", "a/c", "a/bb", "y"].allSatisfy { !rules.isLocalOnly(TreePath($0)) })
        #expect(["a/b", "a/b/.priority", "x/y/z"].allSatisfy { rules.isLocalOnly(TreePath($0)) })
        func kind(_ values: (String, String)...) throws -> String {
            let values = try values.map { PathValue(TreePath($0), try Node(parsing: $1)) }
            do throws(LarderError) {
                return try rules.isLocalOnly(values) ? "local" : "server"
            } catch {
                return error.message
            }
        }
        #expect(try kind() == "server")
        #expect(try kind(("a/b", "1"), ("x/y", "null")) == "local")
        #expect(try kind(("a", #"{"c":1}"#), ("y", "null")) == "server")
        #expect(try kind(("", "null")) == "server")
        #expect(
            try kind(("a/b/c", "1"), ("a/c", "1"))
                == "the write changes /a/b/c and /a/c, of which only one is local only by the cache "
                + "rules; write them separately")
        #expect(
            try kind(("y", "1"), ("", #"{"x":{"z":1}}"#))
                == "the write of / has data for /x, which is local only by the cache rules; write "
                + "that location separately")
        #expect(try TreeCacheRules([rule("a")]).isLocalOnly([PathValue(.root, .empty)]) == false)
    }

    @Test("rules that contradict themselves or each other are refused with the location")
    func contradictions() throws {
        let path = TreePath("a/b")
        let problems: [(rules: [TreeCacheRule], message: String)] = [
            (
                [TreeCacheRule(path, maximumBytes: -1)],
                "the cache rule for /a/b has a maximum size of -1 bytes; it must be at least 1"
            ),
            (
                [TreeCacheRule(path, maximumBytes: 0)],
                "the cache rule for /a/b has a maximum size of 0 bytes; it must be at least 1"
            ),
            (
                [TreeCacheRule(path, maximumAge: .milliseconds(999))],
                "the cache rule for /a/b has a maximum age of 0.999 seconds; it must be at least "
                    + "1 second"
            ),
            (
                [TreeCacheRule(path, isPinned: true, isNeverCached: true)],
                "the cache rule for /a/b is both pinned and never cached"
            ),
            (
                [TreeCacheRule(path, isPinned: true, maximumBytes: 1)],
                "the cache rule for /a/b is pinned and has a limit"
            ),
            (
                [TreeCacheRule(path, isNeverCached: true, maximumAge: .seconds(1))],
                "the cache rule for /a/b is never cached and has a limit"
            ),
            (
                [TreeCacheRule(path, isNeverCached: true, isLocalOnly: true)],
                "the cache rule for /a/b is both local only and never cached"
            ),
            (
                [TreeCacheRule(path, isLocalOnly: true, maximumAge: .seconds(1))],
                "the cache rule for /a/b is local only and has a limit"
            ),
            (
                [rule("a/b/c"), TreeCacheRule(path, isLocalOnly: true)],
                "the cache rule for /a/b/c lies below /a/b, which is local only; there are no rules "
                    + "below such a location"
            ),
            (
                [
                    TreeCacheRule(.root, isLocalOnly: true), TreeCacheRule(path, isLocalOnly: true),
                ],
                "the cache rule for /a/b lies below /, which is local only; there are no rules below "
                    + "such a location"
            ),
            (
                [rule("a/b"), rule("c"), rule("/a//b/")],
                "there are two cache rules for /a/b; combine them in one"
            ),
            (
                [rule("a/b#")],
                "the path '/a/b#' is invalid: 'b#' contains '#'; none of . # $ [ ] are allowed"
            ),
            (
                [rule(".info/connected")],
                "there is a cache rule for /.info/connected, which is never cached"
            ),
            (
                (0...256).map { rule("\($0)") },
                "there are 257 cache rules; at most 256 are allowed"
            ),
        ]
        for problem in problems {
            let message = message(problem.rules)
            if problem.message.hasPrefix("the path") {
                #expect(message?.hasPrefix("the path '/a/b#' is invalid: 'b#'") == true)
            } else {
                #expect(message == problem.message)
            }
        }
        #expect(message((0..<256).map { rule("\($0)") }) == nil)
        #expect(message([TreeCacheRule(path, maximumAge: .seconds(36_500 * 86_400))]) == nil)
        #expect(message([TreeCacheRule(path, maximumAge: .seconds(36_500 * 86_400 + 1))]) != nil)
    }
}
