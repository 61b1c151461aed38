package import Foundation

/// The value of an `NSNumber`, by the type that it was made of.
package enum BoxedNumber: Equatable, Sendable {
    case boolean(Bool)
    case integer(Int64)
    /// An integer above `Int64.max`.
    case large(UInt64)
    case double(Double)

    /// swift-corelibs-foundation uses the type code `c` only for booleans; Apple's Foundation uses
    /// it also for `Int8`, and `B` only for booleans.
    package init(_ number: NSNumber) {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "c"), UInt8(ascii: "B"): self = .boolean(number.boolValue)
        case UInt8(ascii: "d"), UInt8(ascii: "f"):
            if let decimal = number as? NSDecimalNumber {
                self = .double(Double(nearest: decimal.decimalValue))
            } else {
                self = .double(number.doubleValue)
            }
        case UInt8(ascii: "Q"), UInt8(ascii: "L"):
            let integer = number.uint64Value
            self = Int64(exactly: integer).map { .integer($0) } ?? .large(integer)
        default: self = .integer(number.int64Value)
        }
    }
}

extension Double {
    /// The double nearest to a decimal number.
    ///
    /// Goes through text: swift-corelibs-foundation's own conversion multiplies by rounded powers of
    /// ten, so that it misses the nearest double of every third amount with two digits.
    package init(nearest decimal: Decimal) {
        self = decimal.isNaN ? .nan : Double(decimal.description) ?? .nan
    }
}
