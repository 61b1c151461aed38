/// A key that belongs to no type: a position, `super`, or a converted name.
struct PlainKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }

    /// Where a class puts what its superclass encodes.
    static let superclass = PlainKey(stringValue: "super")
}
