public import Foundation
public import LarderModel

extension Timestamp {
    /// The current time.
    public init() {
        self = .now()
    }

    /// Compares two timestamps.
    public func compare(_ other: Timestamp) -> ComparisonResult {
        self < other ? .orderedAscending : self > other ? .orderedDescending : .orderedSame
    }
}

// MARK: - Apple

extension GeoPoint {
    /// Compares by latitude, then by longitude.
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
