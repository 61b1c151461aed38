@_exported import FirebaseCore
@_exported import Larder

extension GeoPoint {
    /// The point itself: a value, where Apple's SDK has an object.
    public func copy() -> Any { self }
}

extension FieldPath {
    /// The path itself: a value, where Apple's SDK has an object.
    public func copy() -> Any { self }
}
