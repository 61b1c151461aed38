public import LarderModel

extension VectorValue {
    /// The components in order.
    public var array: [Double] { components }
}
