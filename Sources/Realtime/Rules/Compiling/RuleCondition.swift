import LarderRealtimeModel

/// A compiled expression with a boolean value.
indirect enum RuleCondition: Sendable {
    case constant(Bool)
    case not(RuleCondition)
    case all([RuleCondition])
    case any([RuleCondition])
    case equal(RuleOperand, RuleOperand)
    case compare(RuleRelation, RuleOperand, RuleOperand)
    case test(NodeTest, RuleLocation)
    /// True if there is data at each of some paths below a location.
    case hasData(RuleLocation, [RuleLocation.Step])
    case text(TextTest, RuleOperand, RuleOperand)
    case matches(RuleOperand, RulePattern)
    case orders(QueryOrder)
    case choice(RuleCondition, RuleCondition, RuleCondition)

    /// A test of a node.
    enum NodeTest: String, Sendable {
        case exists, hasChildren, isNumber, isString, isBoolean
    }

    /// A test of a text with another.
    enum TextTest: String, Sendable {
        case contains, beginsWith, endsWith
    }

    /// A test of a query's order.
    enum QueryOrder: String, Sendable {
        case orderByKey, orderByPriority, orderByValue
    }
}

/// A compiled expression with a value.
indirect enum RuleOperand: Sendable {
    case constant(RuleValue)
    case condition(RuleCondition)
    /// The key that a variable has captured: that of the path's component.
    case capture(component: Int)
    case auth
    case now
    case query(QueryField)
    /// A member of an object, or the length of a string.
    case member(RuleOperand, String)
    case element(RuleOperand, RuleOperand)
    case value(RuleLocation)
    case priority(RuleLocation)
    case arithmetic(RuleArithmetic, RuleOperand, RuleOperand)
    case negative(RuleOperand)
    case replacing(RuleOperand, RuleOperand, with: RuleOperand)
    case lowercased(RuleOperand)
    case uppercased(RuleOperand)
    case choice(RuleCondition, RuleOperand, RuleOperand)

    /// A parameter of a query.
    enum QueryField: String, Sendable {
        case orderByChild, startAt, endAt, equalTo, limitToFirst, limitToLast
    }
}

/// A compiled expression for a place in the tree.
indirect enum RuleLocation: Sendable {
    /// A place below a level of the path that is read or written.
    case place(Place)
    /// Above the root: no rule that asks for it holds.
    case none
    case choice(RuleCondition, RuleLocation, RuleLocation)

    struct Place: Sendable {
        /// True for the tree after the write.
        let isAfterWrite: Bool
        /// The count of components above the level.
        let level: Int
        var steps: [Step] = []
    }

    /// A way from a place to another.
    enum Step: Sendable {
        case child(ChildKey)
        /// A path that is known when it is evaluated.
        case path(RuleOperand)
        case parent
    }
}
