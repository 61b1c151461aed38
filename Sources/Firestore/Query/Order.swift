package import LarderModel

/// A field that documents are ordered by.
package struct Order: Sendable, Hashable {
    /// The field; ``LarderModel/FieldPath/documentID`` for the document's name.
    package let path: FieldPath
    /// Whether large values come first.
    package let isDescending: Bool

    /// An order by a field.
    package init(_ path: FieldPath, isDescending: Bool = false) {
        self.path = path
        self.isDescending = isDescending
    }
}

/// A place in the order of a query: values for its first orders.
package struct Bound: Sendable, Hashable {
    /// Values of the first orders, at least one; a reference for the name.
    package let values: [Value]
    /// Whether documents at that very place are within.
    package let isInclusive: Bool

    /// A place in the order of a query.
    package init(_ values: [Value], isInclusive: Bool) {
        self.values = values
        self.isInclusive = isInclusive
    }
}
