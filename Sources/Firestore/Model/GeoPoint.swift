/// A place on the earth: latitude and longitude in degrees.
///
/// Places are equal when their numbers are, so that 0.0 and -0.0 degrees are one place.
public struct GeoPoint: Hashable, Sendable, CustomStringConvertible {
    /// Degrees north, -90 to 90.
    public let latitude: Double

    /// Degrees east, -180 to 180.
    public let longitude: Double

    /// Makes a place; stops the program when it is out of range, as Apple's SDK does.
    ///
    /// For data from elsewhere use ``init(validatingLatitude:longitude:)``.
    public init(latitude: Double, longitude: Double) {
        precondition(
            Self.isValid(latitude, longitude),
            "A latitude lies in -90...90 and a longitude in -180...180.")
        self.init(unchecked: latitude, longitude)
    }

    /// Makes a place from data that may be out of range.
    ///
    /// - Throws: `invalidArgument` for numbers out of range or not finite.
    public init(validatingLatitude latitude: Double, longitude: Double) throws(LarderError) {
        guard Self.isValid(latitude, longitude) else {
            throw .invalidArgument(
                "geo point (\(latitude), \(longitude)): out of -90...90 or -180...180")
        }
        self.init(unchecked: latitude, longitude)
    }

    package init(unchecked latitude: Double, _ longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// The two numbers in parentheses.
    public var description: String { "(\(latitude), \(longitude))" }

    private static func isValid(_ latitude: Double, _ longitude: Double) -> Bool {
        (-90...90).contains(latitude) && (-180...180).contains(longitude)
    }
}
