public import Foundation
public import LarderModel

extension GeoPoint {
    /// The order of both places: by latitude, then by longitude.
    public func compare(_ other: GeoPoint) -> ComparisonResult {
        let isBefore = (latitude, longitude) < (other.latitude, other.longitude)
        return self == other ? .orderedSame : isBefore ? .orderedAscending : .orderedDescending
    }
}
