public import Foundation
public import LarderModel

extension Timestamp {
    /// This moment.
    public init() {
        self = .now()
    }

    /// The order of both instants.
    public func compare(_ other: Timestamp) -> ComparisonResult {
        self < other ? .orderedAscending : self > other ? .orderedDescending : .orderedSame
    }
}
