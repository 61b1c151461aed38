public import Foundation
import LarderCore
import LarderRealtimeModel

/// The data that a transaction changes; valid in the transaction's block only.
///
/// ``childData(byAppendingPath:)`` gives a part of the same data: changes of the part are changes
/// of the whole.
public final class MutableData {
    /// The data of a transaction, which all parts share.
    private final class Whole {
        var node: Node
        /// The first invalid value that was assigned.
        var problem: LarderError?

        init(_ node: Node) {
            self.node = node
        }
    }

    private let whole: Whole
    /// The location of the transaction.
    private let location: TreePath
    private let path: TreePath

    init(_ node: Node, at location: TreePath) {
        whole = Whole(node)
        self.location = location
        path = .root
    }

    private init(_ whole: Whole, _ location: TreePath, _ path: TreePath) {
        self.whole = whole
        self.location = location
        self.path = path
    }

    /// The data of the transaction, or what was wrong with a value that was assigned.
    var result: Result<Node, LarderError> {
        whole.problem.map { .failure($0) } ?? .success(whole.node)
    }

    private var node: Node {
        get { whole.node.node(at: path) }
        set { whole.node = whole.node.setting(path, to: newValue) }
    }

    /// The data as Foundation values; `NSNull` if there is none.
    ///
    /// Assigning replaces the data with its priority; `nil` and `NSNull` delete it. A value that
    /// cannot be stored fails the transaction with `invalidArgument`.
    public var value: Any? {
        get { node.plainJSON.foundationValue }
        set {
            change { () throws(LarderError) in
                node = try Node(
                    validating: try JSONValue(userValue: newValue),
                    at: location.appending(path))
            }
        }
    }

    /// The priority: `NSNumber`, `String` or nil; assigning one to data that does not exist has no
    /// effect.
    public var priority: Any? {
        get { node.priority.leaf?.json.foundationValue }
        set {
            change { () throws(LarderError) in
                let priority = try Priority(validating: try JSONValue(userValue: newValue))
                node = node.settingPriority(priority)
            }
        }
    }

    private func change(_ body: () throws(LarderError) -> Void) {
        do throws(LarderError) {
            try body()
        } catch {
            if whole.problem == nil { whole.problem = error }
        }
    }

    /// The last component of the path; nil for the root of the database.
    public var key: String? { location.appending(path).last?.text }

    /// True if the data has children.
    public func hasChildren() -> Bool { node.childCount > 0 }

    /// True if there is data at a relative path.
    public func hasChild(atPath path: String) -> Bool {
        guard let path = try? TreePath(validating: path) else { return false }
        return !node.node(at: path).isEmpty
    }

    /// The data at a relative path, to be changed as a part of this data.
    ///
    /// An invalid path fails the transaction with `invalidArgument`.
    public func childData(byAppendingPath path: String) -> MutableData {
        do throws(LarderError) {
            let place = try TreePath(validating: path, below: location.appending(self.path))
            return MutableData(whole, location, place.dropFirst(location.count))
        } catch {
            if whole.problem == nil { whole.problem = error }
            return MutableData(.empty, at: location)
        }
    }

    /// The number of children.
    public var childrenCount: UInt { UInt(node.childCount) }

    /// The children in the order of their priorities, to be changed as parts of this data.
    public var children: NSEnumerator {
        let (whole, location, path) = (whole, location, path)
        return SnapshotEnumerator(
            node.children(by: .priority).lazy.map { child in
                MutableData(whole, location, path.child(child.key))
            }.makeIterator())
    }
}

/// The decision of a transaction's block.
public final class TransactionResult: Sendable {
    /// The new data as the block has left it; nil to abort.
    let result: Result<Node, LarderError>?

    private init(_ result: Result<Node, LarderError>?) {
        self.result = result
    }

    /// The transaction writes the data.
    public static func success(withValue value: MutableData) -> TransactionResult {
        TransactionResult(value.result)
    }

    /// The transaction ends without a write.
    public static func abort() -> TransactionResult {
        TransactionResult(nil)
    }
}
