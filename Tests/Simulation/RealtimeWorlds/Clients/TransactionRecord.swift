import LarderRealtimeModel
import LarderRealtimeSync

/// A transaction that an application has started: it increments a counter and adds its number.
final class TransactionRecord: CustomStringConvertible, @unchecked Sendable {
    // One thread runs a world.

    let number: Int
    let path: TreePath
    /// True if the update returns nothing.
    let aborts: Bool
    var outcome: Result<TransactionOutcome, LarderError>?
    /// True if its process has ended.
    var isOrphan = false
    var applications = 0
    /// The version of the server's tree that its application led to.
    var version: Int?

    init(_ number: Int, at path: TreePath, aborts: Bool) {
        (self.number, self.path, self.aborts) = (number, path, aborts)
    }

    /// The update function of the transaction.
    func update(_ node: Node) -> Node? {
        if aborts { return nil }
        let count = Self.count(of: node) + 1
        return node.setting(Self.counter, to: Node(.integer(count)))
            .settingChild(ChildKey("t\(number)"), to: Node(.integer(count)))
    }

    private static let counter = TreePath("n")

    /// The counter of a location.
    static func count(of node: Node) -> Int64 {
        guard case .number(let number)? = node.node(at: counter).leafValue else { return 0 }
        return number.integer ?? 0
    }

    /// The numbers of the transactions applied to a location.
    static func numbers(in node: Node) -> Set<Int> {
        Set(
            node.children.compactMap { child in
                child.key.text.hasPrefix("t") ? Int(child.key.text.dropFirst()) : nil
            })
    }

    var description: String {
        let outcome = outcome.map { "\($0)" } ?? (isOrphan ? "of an earlier process" : "running")
        return "transaction \(number) at \(path) (\(outcome), applied \(applications))"
    }
}
