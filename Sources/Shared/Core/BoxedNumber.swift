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

extension BoxedNumber {
    /// The value of a boolean or number, boxed or native, of any width and optional; nil for other
    /// values and for integers beyond 64 bits.
    ///
    /// Compares types before casting: on Linux bridging makes a boxed 1 castable to `Bool`.
    package init?(any value: Any) {
        let type = ObjectIdentifier(Swift.type(of: value))
        if type == ObjectIdentifier(NSNumber.self), let number = value as? NSNumber {
            self.init(number)
        } else if type == ObjectIdentifier(Int.self), let integer = value as? Int {
            self = .integer(Int64(integer))
        } else if type == ObjectIdentifier(Double.self), let number = value as? Double {
            self = .double(number)
        } else if type == ObjectIdentifier(Bool.self), let flag = value as? Bool {
            self = .boolean(flag)
        } else {
            self.init(uncommon: value)
        }
    }

    private init?(uncommon value: Any) {
        if type(of: value) is AnyClass {
            guard let number = value as? NSNumber else { return nil }
            self.init(number)
        } else if let integer = value as? any BinaryInteger {
            if let small = Int64(exactly: integer) {
                self = .integer(small)
            } else if let large = UInt64(exactly: integer) {
                self = .large(large)
            } else {
                return nil
            }
        } else if let number = value as? any BinaryFloatingPoint {
            self = .double(Double(number))
        } else if let number = value as? Decimal {
            self = .double(Double(nearest: number))
        } else if let optional = value as? any OptionalNumber, let wrapped = optional.wrapped {
            self.init(any: wrapped)
        } else {
            return nil
        }
    }
}

/// An optional whose type is not known.
private protocol OptionalNumber {
    var wrapped: Any? { get }
}

extension Optional: OptionalNumber {
    fileprivate var wrapped: Any? { self }
}
