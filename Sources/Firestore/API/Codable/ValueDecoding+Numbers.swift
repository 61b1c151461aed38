internal import Foundation
internal import LarderModel

extension Value {
    /// A boolean or a number, boxed or native, of any width; nil for anything else.
    init?(number value: Any) {
        guard let known = try? UserValue(value, in: nil), case .scalar(let scalar) = known else {
            return nil
        }
        switch scalar {
        case .boolean, .integer, .double: self = scalar
        default: return nil
        }
    }
}

extension ValueDecoding.Options {
    /// A boolean; numbers are none.
    func boolean(_ value: Any, at location: @autoclosure () -> CodingLocation) throws -> Bool {
        guard case .boolean(let boolean)? = Value(number: value) else {
            throw mismatch(Bool.self, value, at: location())
        }
        return boolean
    }

    /// A string.
    func string(_ value: Any, at location: @autoclosure () -> CodingLocation) throws -> String {
        guard let text = value as? String else {
            throw mismatch(String.self, value, at: location())
        }
        return text
    }

    /// An integer of any width, also from a double without a fraction.
    func integer<T: FixedWidthInteger>(
        _ value: Any, at location: @autoclosure () -> CodingLocation
    ) throws -> T {
        let exact: T?
        switch Value(number: value) {
        case .integer(let integer): exact = T(exactly: integer)
        case .double(let number): exact = T(exactly: number)
        case .boolean: throw mismatch(T.self, value, at: location())
        default:
            // Above Int64.max: no stored number, but one that an encoder may have made.
            guard let number = value as? NSNumber else {
                throw mismatch(T.self, value, at: location())
            }
            exact = T(exactly: number.uint64Value)
        }
        guard let exact else { throw corrupted("\(value) does not fit \(T.self)", at: location()) }
        return exact
    }

    /// A double, also the nearest to an integer.
    func double(_ value: Any, at location: @autoclosure () -> CodingLocation) throws -> Double {
        switch Value(number: value) {
        case .integer(let integer): return Double(integer)
        case .double(let number): return number
        case .boolean: throw mismatch(Double.self, value, at: location())
        default:
            if let text = value as? String, let number = nonConforming(text) { return number }
            guard let number = value as? NSNumber else {
                throw mismatch(Double.self, value, at: location())
            }
            return number.doubleValue
        }
    }

    /// A float; a finite number beyond its range is an error.
    func float(_ value: Any, at location: @autoclosure () -> CodingLocation) throws -> Float {
        let number = try double(value, at: location())
        let float = Float(number)
        guard float.isFinite || !number.isFinite else {
            throw corrupted("\(number) does not fit Float", at: location())
        }
        return float
    }

    private func nonConforming(_ text: String) -> Double? {
        guard case .convertFromString(let positiveInfinity, let negativeInfinity, let nan) = float
        else { return nil }
        switch text {
        case positiveInfinity: return .infinity
        case negativeInfinity: return -.infinity
        case nan: return .nan
        default: return nil
        }
    }

    /// The error for data of another type, or for null.
    func mismatch(_ type: Any.Type, _ value: Any, at location: CodingLocation) -> DecodingError {
        if value is NSNull {
            return .valueNotFound(
                type,
                DecodingError.Context(
                    codingPath: location.path, debugDescription: "\(type) expected, null found"))
        }
        return .typeMismatch(
            type,
            DecodingError.Context(
                codingPath: location.path,
                debugDescription: "\(type) expected, \(Swift.type(of: value)) found"))
    }

    /// The error for data of the right type that does not do.
    func corrupted(_ text: String, at location: CodingLocation) -> DecodingError {
        .dataCorrupted(
            DecodingError.Context(codingPath: location.path, debugDescription: text))
    }
}
