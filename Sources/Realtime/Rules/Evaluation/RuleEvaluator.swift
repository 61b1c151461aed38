import LarderCore
import LarderRealtimeModel

/// Evaluates compiled expressions for one request.
///
/// An expression fails where its values have other types than its operators need, where it goes
/// above the root, and where it takes too long: the rule does not hold then.
struct RuleEvaluator {
    /// A component of the path, and the nodes there before and after the write once they have been
    /// asked for.
    struct Level {
        let key: ChildKey
        var before: Node?
        var after: Node?
    }

    /// The end of an evaluation that fails.
    struct Failure: Error {}

    let context: RulesContext
    let parameters: QueryParameters
    private let maximumSteps: Int
    /// The levels from the root to the rule's place.
    private(set) var levels: [Level] = []
    /// The steps of text that are left to the rule.
    var steps = 0

    /// An evaluator at the root.
    ///
    /// - Parameters:
    ///   - parameters: the query of a read.
    ///   - maximumSteps: the steps of text that one rule may take.
    init(
        _ context: RulesContext, before: Node, after: Node,
        _ parameters: QueryParameters = .default, maximumSteps: Int
    ) {
        self.context = context
        self.parameters = parameters
        self.maximumSteps = maximumSteps
        levels.reserveCapacity(TreePath.maximumDepth + 2)
        levels.append(Level(key: .min, before: before, after: after))
    }

    // MARK: Levels

    /// Goes to a child of the place.
    mutating func descend(to key: ChildKey) {
        levels.append(Level(key: key))
    }

    /// Goes back to the place above.
    mutating func ascend() {
        levels.removeLast()
    }

    /// The node at a level before the write.
    mutating func before(_ level: Int) -> Node {
        if let node = levels[level].before { return node }
        let node = level == 0 ? .empty : before(level - 1).child(levels[level].key)
        levels[level].before = node
        return node
    }

    /// The node at a level after the write.
    mutating func after(_ level: Int) -> Node {
        if let node = levels[level].after { return node }
        let node = level == 0 ? .empty : after(level - 1).child(levels[level].key)
        levels[level].after = node
        return node
    }

    /// The node at the place after the write.
    mutating func newData() -> Node { after(levels.count - 1) }

    // MARK: Conditions

    /// True if a rule for the place holds.
    mutating func holds(_ rule: RuleCondition) -> Bool {
        if case .constant(let flag) = rule { return flag }
        steps = maximumSteps
        do throws(Failure) {
            return try isTrue(rule)
        } catch {
            return false
        }
    }

    mutating func isTrue(_ condition: RuleCondition) throws(Failure) -> Bool {
        switch condition {
        case .constant(let flag): return flag
        case .not(let part): return try !isTrue(part)
        case .all(let parts):
            for part in parts {
                if try !isTrue(part) { return false }
            }
            return true
        case .any(let parts):
            for part in parts {
                if try isTrue(part) { return true }
            }
            return false
        case .equal(let left, let right): return Self.isEqual(try value(left), try value(right))
        case .compare(let relation, let left, let right):
            return try Self.holds(relation, try value(left), try value(right))
        case .test(let test, let location): return Self.passes(test, try node(at: location))
        case .hasData(let location, let paths): return try hasData(paths, below: node(at: location))
        case .text(let test, let left, let right):
            let (text, part) = (try string(left), try string(right))
            return try passes(test, text, part)
        case .matches(let operand, let pattern):
            guard let isFound = pattern.isFound(in: try string(operand), steps: &steps) else {
                throw Failure()
            }
            return isFound
        case .orders(let order): return parameters.hasOrder(order)
        case .choice(let test, let first, let second):
            return try isTrue(test) ? try isTrue(first) : try isTrue(second)
        }
    }

    private static func isEqual(_ left: RuleValue, _ right: RuleValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.boolean(let l), .boolean(let r)): l == r
        case (.number(let l), .number(let r)): l == r
        case (.string(let l), .string(let r)): l.hasSameUTF8(as: r)
        case (.object(let l), .object(let r)): l == r
        // A node with children equals no value, not even itself.
        default: false
        }
    }

    private static func holds(
        _ relation: RuleRelation, _ left: RuleValue, _ right: RuleValue
    ) throws(Failure) -> Bool {
        switch (left, right) {
        case (.number(let l), .number(let r)):
            if l.isNaN || r.isNaN { return false }
            return relation.holds(l < r ? -1 : l > r ? 1 : 0)
        case (.string(let l), .string(let r)): return relation.holds(l.utf16Order(to: r))
        default: throw Failure()
        }
    }

    private static func passes(_ test: RuleCondition.NodeTest, _ node: Node) -> Bool {
        switch test {
        case .exists: return !node.isEmpty
        case .hasChildren: return node.childCount > 0
        case .isNumber: if case .number? = node.leafValue { return true }
        case .isString: if case .string? = node.leafValue { return true }
        case .isBoolean: if case .boolean? = node.leafValue { return true }
        }
        return false
    }

    private mutating func hasData(
        _ paths: [RuleLocation.Step], below node: Node
    ) throws(Failure) -> Bool {
        // All paths are evaluated: one that fails makes the rule fail wherever it stands.
        var hasAll = true
        for path in paths {
            if try self.node(at: path, below: node).isEmpty { hasAll = false }
        }
        return hasAll
    }

    private mutating func passes(
        _ test: RuleCondition.TextTest, _ text: String, _ part: String
    ) throws(Failure) -> Bool {
        switch test {
        case .beginsWith: return text.hasUTF8Prefix(part)
        case .endsWith:
            let count = part.utf8.count
            return text.utf8.count >= count && text.utf8.suffix(count).elementsEqual(part.utf8)
        case .contains:
            var search = TextSearch(for: part, in: text)
            let isFound = search.next(&steps) != nil
            guard steps >= 0 else { throw Failure() }
            return isFound
        }
    }

    // MARK: Nodes

    mutating func node(at location: RuleLocation) throws(Failure) -> Node {
        switch location {
        case .none: throw Failure()
        case .choice(let test, let first, let second):
            return try isTrue(test) ? try node(at: first) : try node(at: second)
        case .place(let place):
            var node = place.isAfterWrite ? after(place.level) : before(place.level)
            for step in place.steps {
                if case .parent = step { return try nodeGoingBack(place) }
                node = try self.node(at: step, below: node)
            }
            return node
        }
    }

    private mutating func node(
        at step: RuleLocation.Step, below node: Node
    ) throws(Failure) -> Node {
        switch step {
        case .child(let key): return node.child(key)
        case .path(let operand):
            let path = try string(operand)
            return path.utf8.contains(UInt8(ascii: "/")) || path.isEmpty
                ? node.node(at: TreePath(path)) : node.child(ChildKey(path))
        case .parent: throw Failure()
        }
    }

    /// The node at a place whose steps go back over components that are known only now.
    private mutating func nodeGoingBack(_ place: RuleLocation.Place) throws(Failure) -> Node {
        var trail: [Node] = []
        for level in 0...place.level {
            trail.append(place.isAfterWrite ? after(level) : before(level))
        }
        for step in place.steps {
            switch step {
            case .parent: trail.removeLast()
            case .child(let key): trail.append(trail[trail.count - 1].child(key))
            case .path(let operand):
                for key in TreePath(try string(operand)) {
                    trail.append(trail[trail.count - 1].child(key))
                }
            }
            guard !trail.isEmpty else { throw Failure() }
        }
        return trail[trail.count - 1]
    }
}
