/// A type that compares with objects of any type, as the classes of Apple's SDKs do.
public protocol ObjectComparable: Equatable {}

extension ObjectComparable {
    /// True if the other object is of this type and equal by `==`.
    public func isEqual(_ object: Any?) -> Bool { (object as? Self) == self }
}
