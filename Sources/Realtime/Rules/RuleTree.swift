import LarderRealtimeModel

/// The compiled rules of a place and of all places below it.
final class RuleTree: Sendable {
    let read: RuleCondition?
    let write: RuleCondition?
    let validate: RuleCondition?
    /// The orders in which queries of the place are supported.
    let indexes: Set<NodeIndex>
    private let children: [ChildKey: RuleTree]
    /// The rules of the children that have none by name.
    let wildcard: RuleTree?
    /// True if data at the place or below it is validated.
    let hasValidation: Bool
    /// The children with rules by name whose data is validated.
    let validatedKeys: [ChildKey]

    init(
        _ rules: [RuleKind: RuleCondition], indexes: Set<NodeIndex>,
        children: [ChildKey: RuleTree], wildcard: RuleTree?
    ) {
        (read, write, validate) = (rules[.read], rules[.write], rules[.validate])
        self.indexes = indexes
        self.children = children
        self.wildcard = wildcard
        hasValidation =
            rules[.validate] != nil || wildcard?.hasValidation == true
            || children.values.contains(where: \.hasValidation)
        validatedKeys = children.filter(\.value.hasValidation).keys.sorted()
    }

    /// The rules of a child; nil if neither it nor anything below it has any.
    func child(_ key: ChildKey) -> RuleTree? {
        // Most places have either children by name or a variable.
        children.isEmpty ? wildcard : children[key] ?? wildcard
    }
}
