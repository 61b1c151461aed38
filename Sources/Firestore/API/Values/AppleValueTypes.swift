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

// MARK: - Apple

extension GeoPoint {
    /// The order of both places: by latitude, then by longitude.
    public func compare(_ other: GeoPoint) -> ComparisonResult {
        let isBefore = (latitude, longitude) < (other.latitude, other.longitude)
        return self == other ? .orderedSame : isBefore ? .orderedAscending : .orderedDescending
    }
}

// MARK: - Apple

extension VectorValue {
    /// The components in order.
    public var array: [Double] { components }
}
