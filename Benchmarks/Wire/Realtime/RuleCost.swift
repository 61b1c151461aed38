import BenchmarkMeasuring
import LarderRealtimeBackend
import LarderRealtimeModel

/// The processor time of a rule about a write.
enum RuleCost {
    private static let text = """
        {"rules": {"users": {"$uid": {
          ".write": "auth.uid === $uid && newData.child('t').isNumber()"}}}}
        """

    /// The seconds of one evaluation, among 1,000 users.
    static func measure(evaluations: Int) throws -> Double {
        let rules = try SecurityRules(text)
        let users = (0..<1_000).map { Child(ChildKey("u\($0)"), Node(.integer(Int64($0)))) }
        let before = Node(children: [Child(ChildKey("users"), Node(children: users))])
        let path = TreePath("users/u500")
        let after = before.setting(
            path, to: Node(children: [Child(ChildKey("t"), Node(.integer(1)))]))
        let context = RulesContext(
            auth: .object([JSONMember("uid", .string("u500"))]), milliseconds: 0)
        var allowed = 0
        let start = Clock.processor
        for _ in 0..<evaluations
        where rules.allowsWrite(at: path, from: before, to: after, context) { allowed += 1 }
        let seconds = (Clock.processor - start) / Double(evaluations)
        guard allowed == evaluations else {
            throw WireConnection.Problem(description: "the rule does not hold")
        }
        return seconds
    }
}
