import Foundation

/// The outcomes of a comparison that satisfy a condition.
struct AcceptedOrders: OptionSet, Sendable {
    let rawValue: UInt8

    static let below = AcceptedOrders(rawValue: 1)
    static let same = AcceptedOrders(rawValue: 2)
    static let above = AcceptedOrders(rawValue: 4)

    /// What a comparing operator accepts; nil for the others.
    init?(_ op: FieldFilter.Operator) {
        switch op {
        case .lessThan: self = .below
        case .lessThanOrEqual: self = [.below, .same]
        case .equal: self = .same
        case .notEqual: self = [.below, .above]
        case .greaterThan: self = .above
        case .greaterThanOrEqual: self = [.above, .same]
        case .arrayContains, .arrayContainsAny, .in, .notIn: return nil
        }
    }

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    func accepts(_ order: ComparisonResult) -> Bool {
        rawValue & (1 &<< UInt8(truncatingIfNeeded: order.rawValue &+ 1)) != 0
    }
}

extension ComparisonResult {
    /// The outcome with both sides exchanged.
    var reversed: ComparisonResult {
        switch self {
        case .orderedAscending: .orderedDescending
        case .orderedSame: .orderedSame
        case .orderedDescending: .orderedAscending
        }
    }
}
